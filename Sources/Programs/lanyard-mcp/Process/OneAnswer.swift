internal import Synchronization

/// Sees that a request of the client gets one answer at most, and none after the client has cancelled it.
final class OneAnswer: Sendable {
  private struct State {
    var isTaken = false
    var isGivenUp = false
  }
  private let state = Mutex(State())

  /// True once, for the answer that the client gets; false also after the client has cancelled the request.
  func take() -> Bool {
    state.withLock { state in
      defer { state.isTaken = true }
      return !state.isTaken && !state.isGivenUp
    }
  }

  /// The client waits for no answer.
  func giveUp() { state.withLock { $0.isGivenUp = true } }

  var isTaken: Bool { state.withLock { $0.isTaken } }
  var isGivenUp: Bool { state.withLock { $0.isGivenUp } }
}
