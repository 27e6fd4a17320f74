internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import Secrets

/// The audit log on the disk. What an operation does and its entry are one transaction.
extension VaultActor {
  /// The entry of something that is happening now, for whoever asked for it.
  func audited(
    _ event: AuditEntry.Event, outcome: String = "ok", account: AccountID? = nil, _ facts: AuditEntry.Fact...
  ) -> VaultChange {
    .audit(
      AuditEntry(
        at: clock.wall(), event: event, outcome: outcome, account: account, client: Caller.client, facts: facts))
  }

  /// Entries of what changes nothing else: decisions. One transaction for all of them, with the time: a window that
  /// somebody uses is never taken back by a reboot with an earlier clock.
  func append(_ entries: [AuditEntry]) throws(AgentFailure) {
    let all = entries.map { VaultChange.audit($0) } + timeRecord
    try onVault { (vault) throws(VaultFailure) in try vault.apply(all) }
  }

  /// The chain's ends; `isLonger`: there are rows past its end, which nobody wrote.
  func auditChain() throws(AgentFailure) -> (chain: AuditChain, isLonger: Bool) {
    try onVault { (vault) throws(VaultFailure) in
      let chain = try vault.auditChain()
      return (chain, try !vault.auditRows(after: chain.last, limit: 1).isEmpty)
    }
  }

  /// Some entries after a number, oldest first; `through` is the last one looked at, nil if there are no more.
  func auditPage(after: Int64) throws(AgentFailure) -> (entries: [RecordedAuditEntry], through: Int64?) {
    let rows = try onVault { (vault) throws(VaultFailure) in try vault.auditRows(after: after, limit: Self.pageRows) }
    let entries = try rows.map { (row, plain) throws(AgentFailure) in
      guard let entry = plain.flatMap({ RecordedAuditEntry($0, sequence: row.sequence) }) else { throw .auditDamaged }
      return entry
    }
    return (entries, rows.count < Self.pageRows ? nil : rows.last?.row.sequence)
  }

  /// Checks a page of the log on the way. `through` is the last entry looked at, nil if there are no more.
  func auditWalk(
    _ walk: AuditVerifier, after: Int64, through last: Int64
  ) throws(AgentFailure) -> (walk: AuditVerifier, through: Int64?) {
    try onVault { (vault) throws(VaultFailure) in
      var walk = walk
      let rows = try vault.auditRows(after: after, limit: Self.pageRows).filter { $0.row.sequence <= last }
      for (row, plain) in rows {
        walk.visit(row.sequence, link: row.link, opens: plain != nil) { vault.auditLink(of: row, after: $0) }
      }
      return (walk, rows.last?.row.sequence)
    }
  }

  /// Read at once: a fraction of a millisecond, so that other accounts hardly wait.
  static let pageRows = 256
}
