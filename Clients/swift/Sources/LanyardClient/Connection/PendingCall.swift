/// The result of a call, which is read from its line when it is needed.
package struct Answer: Sendable {
  package let result: WireNode
}

/// A call whose answer has not arrived. It ends once: with an answer, an error, or the cancellation of its task.
final class PendingCall: Sendable {
  private enum State {
    case fresh
    case awaited(CheckedContinuation<Answer, any Error>)
    case ended(Result<Answer, any Error>)
    case told
  }

  private let state = Locked(State.fresh)

  /// True once the call has ended: an answer is of no use.
  var isOver: Bool {
    state.withLock {
      switch $0 {
      case .fresh, .awaited: false
      case .ended, .told: true
      }
    }
  }

  /// Ends the call. Later ends are ignored.
  func end(_ result: Result<Answer, any Error>) {
    let continuation: CheckedContinuation<Answer, any Error>? = state.withLock { state in
      switch state {
      case .fresh:
        state = .ended(result)
        return nil
      case .awaited(let continuation):
        state = .told
        return continuation
      case .ended, .told: return nil
      }
    }
    continuation?.resume(with: result)
  }

  /// Waits for the end. One task waits, once.
  func wait(_ continuation: CheckedContinuation<Answer, any Error>) {
    let ended: Result<Answer, any Error>? = state.withLock { state in
      guard case .ended(let result) = state else {
        state = .awaited(continuation)
        return nil
      }
      state = .told
      return result
    }
    if let ended { continuation.resume(with: ended) }
  }
}
