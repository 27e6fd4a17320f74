internal import AgentCore
internal import AgentModel

/// How the audit log stands.
struct AuditVerification: Sendable {
  var chain: AuditChain
  /// So many entries in a row are as they were written.
  var checked: Int64
  /// The first that is not, or that nobody wrote.
  var firstBroken: Int64?
}

extension VaultActor {
  /// Walks the whole log, page by page, so that nobody waits for it.
  nonisolated func verifyAudit() async throws(AgentFailure) -> AuditVerification {
    while true {
      let chain = try await auditChain().chain
      var walk = AuditVerifier(chain)
      // From before the first one: what went when the log was full must not stand there again.
      var position: Int64? = 0
      while let after = position, walk.isIntact {
        (walk, position) = try await auditWalk(walk, after: after, through: chain.last)
      }
      walk.finish()
      let (now, isLonger) = try await auditChain()
      // What is missing may have gone meanwhile because the log was full: then it is walked again.
      guard walk.isIntact || now.first == chain.first else { continue }
      return AuditVerification(
        chain: chain, checked: walk.checked, firstBroken: walk.firstBroken ?? (isLonger ? now.last + 1 : nil))
    }
  }
}
