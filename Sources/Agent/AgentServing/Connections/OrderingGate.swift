internal import Synchronization

/// Lets later requests of a connection wait for one that must be answered first (a method's `ordering` in the schema).
package final class OrderingGate: Sendable {

  package init() {}
  package typealias Work = @Sendable () -> Void

  private struct State {
    var isHeld = false
    var deferred: [(isBarrier: Bool, work: Work)] = []
  }
  private let state = Mutex(State())

  package var isHeld: Bool { state.withLock { $0.isHeld } }

  /// Does `work` now, or when all requests ordered before it are answered. A barrier holds later requests until
  /// `release`.
  package func submit(isBarrier: Bool, _ work: @escaping Work) {
    let isDeferred = state.withLock { state in
      guard !state.isHeld else {
        state.deferred.append((isBarrier, work))
        return true
      }
      state.isHeld = isBarrier
      return false
    }
    if !isDeferred { work() }
  }

  /// The barrier was answered: starts the waiting requests in order, up to the next barrier. The gate stays held
  /// meanwhile, so that no new request overtakes a waiting one.
  package func release() {
    while let next = next() {
      next.work()
      if next.isBarrier { return }
    }
  }

  private func next() -> (isBarrier: Bool, work: Work)? {
    state.withLock { state in
      guard state.deferred.isEmpty else { return state.deferred.removeFirst() }
      state.isHeld = false
      return nil
    }
  }
}
