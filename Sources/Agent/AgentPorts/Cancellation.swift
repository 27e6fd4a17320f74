internal import Synchronization

/// Cancels work that has no task of its own.
public final class Cancellation: Sendable {
  private struct State {
    var isCancelled = false
    var action: (@Sendable () -> Void)?
  }
  private let state = Mutex(State())

  public init() {}

  public var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Cancels the work, once and for all.
  public func cancel() {
    let action = state.withLock { state in
      state.isCancelled = true
      defer { state.action = nil }
      return state.action
    }
    action?()
  }

  /// Lets go of the action, and of what it holds.
  public func workEnded() {
    let action = state.withLock { state in
      defer { state.action = nil }
      return state.action
    }
    withExtendedLifetime(action) {}
  }

  /// `action` cancels the work: called once, from any thread, also if the work has just ended; at once if it is cancelled
  /// already.
  public func onCancel(_ action: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      if !state.isCancelled { state.action = action }
      return state.isCancelled
    }
    if isCancelled { action() }
  }
}
