package import AgentCore
package import AgentModel
internal import AgentOAuth
package import AgentPermissions
internal import AgentPorts
internal import AgentRecords
package import AgentStore

/// What a proxy asks before it lets a program through to an origin without a token.
package struct PassRequest: Sendable {
  var origin: HTTPURL
  /// The grant that the proxy serves: its id, or the name of its client.
  var grant: String?
  /// What the person lets pass at this proxy; nil: all that the grant lets pass.
  var passOrigins: PassedOrigins?

  package init(origin: HTTPURL, grant: String?, passOrigins: PassedOrigins?) {
    self.origin = origin
    self.grant = grant
    self.passOrigins = passOrigins
  }
}

/// Decides which origins programs pass to without a token, and writes down what passed (docs/proxy.md, What passes).
package struct RequestPasses: Sendable {
  private let decisions: PolicyDecisionPoint
  private let grants: CallerGrantTable
  private let vault: VaultActor

  package init(decisions: PolicyDecisionPoint, grants: CallerGrantTable, vault: VaultActor) {
    self.decisions = decisions
    self.grants = grants
    self.vault = vault
  }

  /// Decides whether an origin passes. A refusal is in the audit log.
  package func pass(_ wanted: PassRequest) async throws(AgentFailure) -> PassedOrigins.Basis {
    do throws(AgentFailure) {
      return try await decide(wanted)
    } catch {
      let outcome: String? =
        switch error {
        case .originServed: "originNotAllowed"
        case .caller: "notPermitted"
        default: nil
        }
      // One that can't be written is a refusal all the same.
      if let outcome { try? await record(outcome, wanted.origin, wanted.grant, facts: []) }
      throw error
    }
  }

  private func decide(_ wanted: PassRequest) async throws(AgentFailure) -> PassedOrigins.Basis {
    var passed = wanted.passOrigins ?? PassedOrigins()
    if let grant = wanted.grant {
      let ofGrant = try grants.liveGrant(grant, of: nil).permission.passOrigins
      passed = wanted.passOrigins.map { ofGrant.narrowed(to: $0) } ?? ofGrant
    }
    guard let basis = passed.basis(of: wanted.origin) else { throw .caller(.notCovered) }
    // While the vault is locked nothing passes: what passed could not be written down.
    let server = try await vault.read { vault throws(AgentFailure) in
      vault.directory.profiles.values.first { profile in
        vault.providerTable.all[profile.provider].map {
          PassedOrigins.isServed(wanted.origin, by: RequestTarget.origins($0.configuration.allowedOrigins))
        } ?? false
      }?.id
    }
    if basis == .any, let server { throw .originServed(server) }
    return basis
  }

  /// Writes down what passed. The grant may have ended meanwhile.
  package func passed(
    _ origin: HTTPURL, grant: String?, sentBytes: Int64, receivedBytes: Int64
  ) async throws(AgentFailure) {
    try await record(
      "ok", origin, grant, facts: [.bytes(sentBytes &+ receivedBytes), .sentBytes(sentBytes)])
  }

  private func record(
    _ outcome: String, _ origin: HTTPURL, _ grant: String?, facts: [AuditEntry.Fact]
  ) async throws(AgentFailure) {
    var all = [AuditEntry.Fact.origin(origin.origin)] + facts
    if let grant {
      let named = try? grants.liveGrant(grant, of: nil)
      all.append(.grant(named?.id ?? grant))
      if let client = named?.client { all.append(.grantee(client)) }
    }
    var entry = AuditEntry(
      at: decisions.clock.wall(), event: .requestPass, outcome: outcome, client: Caller.client, facts: all)
    entry.isBatched = true
    _ = try await decisions.audit.record([entry], offering: [nil]) { _ in true }
  }
}
