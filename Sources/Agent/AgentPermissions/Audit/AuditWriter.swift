internal import AgentPorts
package import AgentRecords
package import AgentStore

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

  private let groups: GroupedWork<Request, Result<[String]?, AgentFailure>>

  package init(vault: VaultActor) {
    groups = GroupedWork { requests in
      // A commit is of all of them, and not of the caller that leads.
      await Caller.$current.withValue(nil) {
        do throws(AgentFailure) {
          return try await AuditRecorder.record(requests, for: vault)
        } catch {
          return requests.map { _ in .failure(error) }
        }
      }
    }
  }

  /// Records the entries; they are durable when this returns the ids of the decisions that the log has: a repeat is
  /// counted in the entry of an earlier one, and has its id. A batched repeat is durable 100 ms later. Nil, and nothing
  /// is written, if they are not true any more when their turn comes: the order in the log is the order of effects. They
  /// are not true either once another caller has taken the last of `uses`.
  package func record(
    _ entries: [AuditEntry], offering offers: [DecisionCache.Offer?], spending uses: [BudgetUse] = [],
    if areTrue: @escaping Check
  ) async throws(AgentFailure) -> [String]? {
    try await groups(Request(entries: entries, offers: offers, uses: uses, areTrue: areTrue)).get()
  }
}
