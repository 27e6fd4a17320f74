internal import Synchronization

/// Lets later requests of a connection wait for one that must be answered first (a method's `ordering` in the schema).
///
/// The whole order of the requests of one connection, and where each rule stands (docs/protocol.md, Ordering):
///
/// 1. One thread takes the lines as they were read, and the members of a batch one by one: `Connection`.
/// 2. A request with an answer in memory is answered at once, if none waits before it: `CachedAnswers`, which asks
///    `RequestDispatcher.mayAnswerNow`.
/// 3. `$/cancel`, and what is refused before it begins (an invalid request, an id that is in use, an unknown method, wrong
///    params, no memory, the agent's end) are done as they are read: `RequestDispatcher`.
/// 4. Every other request takes a place. Without a free one it waits, in the order of reading: `RequestsInFlight`.
/// 5. With its place it comes to this gate. `ordering: connection` says that what comes later waits for its answer: an
///    `OrderedMethodHandler` is done and answered at its turn, without a task; any other handler of such a method is a
///    barrier. The rest runs concurrently (`PreparedCall`), and each is answered when it ends.
///
/// Connections have no order between them. What two requests do to one account is in the order of their commits
/// (`VaultActor`).
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
