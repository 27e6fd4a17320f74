internal import Synchronization
internal import Threads

/// What other threads report to the reading thread: clients with output to write, and the order to stop.
final class Announcements: Sendable {
  private struct State {
    var peers: [Peer] = []
    var isStopping = false
  }

  private let state = Mutex(State())
  /// Readable while a report waits.
  var descriptor: Int32 { wakeUp.descriptor }
  private let wakeUp = WakeUp()

  func announce(_ peer: Peer) {
    state.withLock { $0.peers.append(peer) }
    wakeUp.signal()
  }

  func stop() {
    state.withLock { $0.isStopping = true }
    wakeUp.signal()
  }

  /// Takes the reported clients; `isStopping` stays true.
  func take() -> (peers: [Peer], isStopping: Bool) {
    wakeUp.clear()
    return state.withLock { state in
      defer { state.peers.removeAll(keepingCapacity: true) }
      return (state.peers, state.isStopping)
    }
  }
}
