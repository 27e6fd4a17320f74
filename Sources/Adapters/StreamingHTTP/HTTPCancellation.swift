internal import Synchronization
public import Threads

/// Ends a request from another thread.
public final class HTTPCancellation: Sendable {
  private struct State {
    var isCancelled = false
    var deadline: MonotonicTime?
    var wakeUp: WakeUp?
  }
  private let state = Mutex(State())

  public init() {}

  /// Ends the request, also one that has not begun. `perform` returns as soon as a callback that runs has returned.
  public func cancel() {
    state.withLock { state in
      state.isCancelled = true
      state.wakeUp?.signal()
    }
  }

  /// Ends the request if it still runs after so many milliseconds (`.lost(.timedOut)`).
  public func cancel(afterMilliseconds milliseconds: Int) {
    state.withLock { state in
      let deadline = MonotonicTime.now + milliseconds
      state.deadline = min(state.deadline ?? deadline, deadline)
      state.wakeUp?.signal()
    }
  }

  var deadline: MonotonicTime? { state.withLock { $0.deadline } }

  public var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// While a request runs, its thread is woken by `wakeUp`.
  public func attach(_ wakeUp: WakeUp?) { state.withLock { $0.wakeUp = wakeUp } }
}
