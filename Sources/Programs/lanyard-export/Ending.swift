internal import AgentModel
internal import Glibc
internal import Synchronization
internal import Threads

/// Tells all threads that the program ends.
final class Ending: Sendable {
  private let wakeUp = WakeUp()
  private let isSet = Atomic(false)

  var hasBegun: Bool { isSet.load(ordering: .relaxed) }
  /// Readable from `begin` on.
  var descriptor: Int32 { wakeUp.descriptor }

  func begin() {
    isSet.store(true, ordering: .relaxed)
    wakeUp.signal()
  }

  /// Waits, and returns at once when the end begins.
  func pause(milliseconds: Int64) {
    let deadline = Moment.boot.milliseconds + milliseconds
    while !hasBegun {
      let left = deadline - Moment.boot.milliseconds
      guard left > 0 else { return }
      var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      poll(&watched, 1, Int32(min(left, 3_600_000)))
    }
  }
}
