import CPlatform
import Glibc
import Threads

/// A file descriptor with one owner; closed with its owner. Its creator makes it close-on-exec and non-blocking
/// atomically: the agent starts browsers and pinentry meanwhile.
struct Descriptor: ~Copyable, Sendable {
  let number: Int32

  init(owning number: Int32) { self.number = number }

  deinit { close(number) }
}

/// A flag that a thread can wait for together with sockets: once raised, it stays raised and wakes every waiter.
final class StopSignal: Sendable {
  private let event: Descriptor

  init() throws(LoopbackError) {
    let number = lanyard_eventfd()
    guard number >= 0 else { throw .system(call: "eventfd", errno: -number) }
    event = Descriptor(owning: number)
  }

  /// The event is never drained, so it stays readable for all threads that poll it now or later.
  func raise() { lanyard_eventfd_signal(event.number) }

  enum Wakeup { case ready, stopped, timedOut }

  /// Blocks until a descriptor has one of `events`, the flag is raised, or the time is over (-1: never).
  func wait(for descriptors: [Int32] = [], events: Int32 = 0, milliseconds: Int = -1) -> Wakeup {
    let deadline = milliseconds < 0 ? nil : MonotonicTime.now.milliseconds + milliseconds
    while true {
      var polled = ([event.number] + descriptors).map {
        pollfd(fd: $0, events: Int16($0 == event.number ? POLLIN : events), revents: 0)
      }
      let left = deadline.map { Int32(clamping: max(0, $0 - MonotonicTime.now.milliseconds)) } ?? -1
      let count = poll(&polled, nfds_t(polled.count), left)
      if count < 0 && errno == EINTR { continue }
      if polled[0].revents != 0 { return .stopped }
      if polled.contains(where: { $0.revents != 0 }) { return .ready }
      if left == 0 || count < 0 { return .timedOut }
    }
  }

  var isRaised: Bool { wait(milliseconds: 0) == .stopped }
}
