/// Opens and closes the vault, one at a time and each to its end: an opening amid a closing would meet accounts that
/// still give up what they had.
actor AsyncMutex {
  private var isBusy = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func pass<Result: Sendable>(
    _ body: @Sendable () async throws(AgentFailure) -> Result
  ) async throws(AgentFailure) -> Result {
    if isBusy { await withCheckedContinuation { waiting.append($0) } }
    isBusy = true
    defer { if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() } }
    return try await body()
  }
}
