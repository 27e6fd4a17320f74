package import AgentStore

/// Runs one body at a time, each to its end, in the order of the calls. Other than in an actor, no second body begins
/// while the first one waits.
package actor AsyncMutex {
  private var isBusy = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  package init() {}

  package func pass<Result: Sendable>(
    _ body: @Sendable () async throws(AgentFailure) -> Result
  ) async throws(AgentFailure) -> Result {
    if isBusy { await withCheckedContinuation { waiting.append($0) } }
    isBusy = true
    defer { if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() } }
    return try await body()
  }
}
