internal import Synchronization
internal import Threads

/// Ends a request from another thread.
public final class HTTPCancellation: Sendable {
  private struct State {
    var isCancelled = false
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

  public var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// While a request runs, its thread is woken by `wakeUp`.
  func attach(_ wakeUp: WakeUp?) { state.withLock { $0.wakeUp = wakeUp } }
}
