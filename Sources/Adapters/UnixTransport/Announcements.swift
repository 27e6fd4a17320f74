internal import CPlatform
internal import Glibc
internal import Synchronization

/// What other threads report to the reading thread: clients with output to write, and the order to stop.
final class Announcements: Sendable {
  private struct State {
    var peers: [Peer] = []
    var isStopping = false
  }

  private let state = Mutex(State())
  /// Readable while a report waits.
  let descriptor = lanyard_eventfd()

  deinit { close(descriptor) }

  func announce(_ peer: Peer) {
    state.withLock { $0.peers.append(peer) }
    lanyard_eventfd_signal(descriptor)
  }

  func stop() {
    state.withLock { $0.isStopping = true }
    lanyard_eventfd_signal(descriptor)
  }

  /// Takes the reported clients; `isStopping` stays true.
  func take() -> (peers: [Peer], isStopping: Bool) {
    _ = lanyard_eventfd_drain(descriptor)
    return state.withLock { state in
      defer { state.peers.removeAll(keepingCapacity: true) }
      return (state.peers, state.isStopping)
    }
  }
}
