package import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentStore
package import AgentVault
internal import JSONRPC
internal import Secrets

extension VaultDependencies {
  /// An entry about the current operation, for the client that asked for it.
  package func audited(
    _ event: AuditEntry.Event, outcome: String = "ok", account: AccountID? = nil, _ facts: [AuditEntry.Fact] = []
  ) -> VaultChange {
    let entry = AuditEntry(
      at: clock.wall(), event: event, outcome: outcome, account: account, client: Caller.client, facts: facts)
    return .audit(entry.append)
  }
}

extension OpenVault {
  package var audit: AuditLog { AuditLog(vault: self) }

  /// Commits an operation and its audit entry in one transaction.
  package func audited(
    _ event: AuditEntry.Event, outcome: String = "ok", account: AccountID? = nil, _ facts: AuditEntry.Fact...
  ) -> VaultChange {
    dependencies.audited(event, outcome: outcome, account: account, facts)
  }
}

/// The stored audit log.
package struct AuditLog {
  let vault: OpenVault

  /// Appends entries of operations without another commit, which are decisions. One transaction for all of them, with
  /// the time record, so that a reboot with an earlier clock does not lengthen an offline window in use.
  /// Results in the places where the log has them.
  package func append(
    _ entries: [AuditEntry], counting: RepeatCounting = .unchanged, spending budgets: [VaultChange] = []
  ) -> ChangeSet<[AuditPlace]> {
    let records = vault.records
    let changes = entries.map { VaultChange.audit($0.append) } + [.repeats(counting)] + budgets
    return ChangeSet(changes + vault.trustedTime.changes) { _ in
      records.audit.lastPlaces
    }.onlyIntoFreeRoom
  }

  /// Takes in the repeats that were counted beside the log.
  package func settled(_ counting: RepeatCounting) -> ChangeSet<Void> {
    ChangeSet([.repeats(counting)] + vault.trustedTime.changes).onlyIntoFreeRoom
  }

  /// The entry that would count this one; nil if it would be one of its own.
  package func place(of entry: AuditEntry) -> (place: AuditPlace, lastAt: Timestamp)? {
    vault.records.audit.place(of: entry.append)
  }

  /// The chains' ends; no entry that is there changes from now on. `isLonger`: the log has rows past its end, which this
  /// agent did not write. Call it in `VaultActor.readAudit`.
  package func chains() throws(AgentFailure) -> (chains: AuditChains, isLonger: Bool) {
    try vault.withRecords { (records) throws(VaultFailure) in
      records.audit.closeEntries()
      let chains = try records.audit.chains()
      return (chains, try !records.audit.rows(after: chains.last, limit: 1).isEmpty)
    }
  }

  /// A page of entries after a number, oldest first; `through` is the last one read, nil if there are no more. A reader
  /// goes on after the last number that it got, so no entry that is there changes from now on. Call it in
  /// `VaultActor.readAudit`.
  package func page(after: Int64) throws(AgentFailure) -> (entries: [RecordedAuditEntry], through: Int64?) {
    let rows = try vault.withRecords { (records) throws(VaultFailure) in
      records.audit.closeEntries()
      return try records.audit.rows(after: after, limit: Self.pageRows)
    }
    let entries = try rows.map { (row, plain) throws(AgentFailure) in
      guard let entry = plain.flatMap({ RecordedAuditEntry($0, sequence: row.sequence) }) else { throw .auditDamaged }
      return entry
    }
    return (entries, rows.count < Self.pageRows ? nil : rows.last?.row.sequence)
  }

  /// Reads and checks a page of the log. `through` is the last entry read, nil if there are no more.
  package func walk(
    _ walk: AuditVerifier, after: Int64, through last: Int64
  ) throws(AgentFailure) -> (walk: AuditVerifier, through: Int64?) {
    try vault.withRecords { (records) throws(VaultFailure) in
      var walk = walk
      let rows = try records.audit.rows(after: after, limit: Self.pageRows).filter { $0.row.sequence <= last }
      for (row, plain) in rows {
        walk.visit(row.sequence, in: row.ring, link: row.link, opens: plain != nil) {
          records.audit.link(of: row, after: $0)
        }
      }
      return (walk, rows.last?.row.sequence)
    }
  }

  /// The rows of a page. Reading them takes a fraction of a millisecond, so that other accounts hardly wait.
  private static let pageRows = 256
}
