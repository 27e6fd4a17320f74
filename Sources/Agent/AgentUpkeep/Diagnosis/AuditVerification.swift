package import AgentCore
internal import AgentModel
internal import AgentPermissions
internal import AgentRecords
package import AgentStore

/// The result of a check of the audit log.
package struct AuditVerification: Sendable {
  package var chains: AuditChains
  /// So many entries of those after the wanted number are as they were written.
  package var checked: Int64
  /// The first that is not, or that this agent did not write.
  package var firstBroken: Int64?

  /// Walks the whole log, page by page: between two pages the vault serves others.
  package init(of vault: VaultActor, countingAfter after: Int64 = 0) async throws(AgentFailure) {
    while true {
      let chains = try await Self.chains(of: vault).chains
      var walk = AuditVerifier(chains, countingAfter: after)
      // From before the first one: what went when the log was full must not stand there again.
      var position: Int64? = 0
      while let after = position, walk.isIntact {
        let sofar = walk
        (walk, position) = try await vault.read { vault throws(AgentFailure) in
          try vault.audit.walk(sofar, after: after, through: chains.last)
        }
      }
      walk.finish()
      let (now, isLonger) = try await Self.chains(of: vault)
      // Entries may be missing because a full log dropped them meanwhile: then walk it again.
      guard
        walk.isIntact
          || now.security.first == chains.security.first && now.decisions.first == chains.decisions.first
      else { continue }
      self.chains = chains
      checked = walk.checked
      firstBroken = walk.firstBroken ?? (isLonger ? now.last + 1 : nil)
      return
    }
  }

  private static func chains(
    of vault: VaultActor
  ) async throws(AgentFailure) -> (chains: AuditChains, isLonger: Bool) {
    try await vault.readAudit { vault throws(AgentFailure) in try vault.audit.chains() }
  }
}
