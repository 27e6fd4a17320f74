package import AgentRecords
package import AgentStore
internal import Synchronization

/// Commits the audit entries of decisions before the agent answers them (docs/storage.md, Audit).
///
/// Decisions that arrive during a commit share the next one, so that any number of concurrent decisions costs one
/// write.
package final class AuditWriter: Sendable {
  /// Whether entries are still true when they are written. Called in the transaction, so that nothing comes between.
  package typealias Check = @Sendable (OpenVault) -> Bool

  /// The entries of one request.
  struct Request: Sendable {
    var entries: [AuditEntry]
    /// For `DecisionCache`; nil for a decision that is not to be repeated.
    var offers: [DecisionCache.Offer?]
    /// The uses of budgets that the entries tell of: in one transaction with them.
    var uses: [BudgetUse]
    var areTrue: Check
  }

  private struct Waiting {
    var request: Request
    var caller: CheckedContinuation<Result<[String]?, AgentFailure>, Never>
  }
  private struct State {
    var queue: [Waiting] = []
    var isWriting = false
  }
  private let state = Mutex(State())
  private let vault: VaultActor
  private let background: BackgroundWork

  package init(vault: VaultActor, background: BackgroundWork) {
    self.vault = vault
    self.background = background
  }

  /// Records the entries; they are durable when this returns the ids of the decisions that the log has: a repeat is
  /// counted in the entry of an earlier one, and has its id. A batched repeat is durable 100 ms later. Nil, and nothing
  /// is written, if they are not true any more when their turn comes: the order in the log is the order of effects. They are not true
  /// either once another caller has taken the last of `uses`.
  func record(
    _ entries: [AuditEntry], offering offers: [DecisionCache.Offer?], spending uses: [BudgetUse] = [],
    if areTrue: @escaping Check
  ) async throws(AgentFailure) -> [String]? {
    let result = await withCheckedContinuation { caller in
      let leads = state.withLock { state in
        state.queue.append(
          Waiting(
            request: Request(entries: entries, offers: offers, uses: uses, areTrue: areTrue), caller: caller))
        defer { state.isWriting = true }
        return !state.isWriting
      }
      if leads, !background.start({ await self.write() }) { refuse(.shuttingDown) }
    }
    return try result.get()
  }

  private func write() async {
    while let group = next() {
      do throws(AgentFailure) {
        let recorded = try await AuditRecorder.record(group.map(\.request), for: vault)
        for (waiting, result) in zip(group, recorded) { waiting.caller.resume(returning: result) }
      } catch {
        for waiting in group { waiting.caller.resume(returning: .failure(error)) }
      }
    }
  }

  private func next() -> [Waiting]? {
    state.withLock { state in
      let group = state.queue
      state.queue = []
      state.isWriting = !group.isEmpty
      return group.isEmpty ? nil : group
    }
  }

  /// Refuses all waiting entries, also those that arrive meanwhile. The last `next()` clears `isWriting`, so that the
  /// next caller of `record` tries again.
  private func refuse(_ error: AgentFailure) {
    while let group = next() {
      for waiting in group { waiting.caller.resume(returning: .failure(error)) }
    }
  }
}
