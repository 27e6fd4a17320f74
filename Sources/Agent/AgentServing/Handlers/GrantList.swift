internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentProtocol
internal import AgentStore

/// Lists the valid grants; a limited caller sees those created under its own grants.
enum GrantListHandler: MethodHandler {
  typealias Method = GrantList

  static func handle(_ params: GrantList.Params, _ call: Call) async throws(AgentFailure) -> GrantList.Result {
    let grants = try await call.agent.vault.read { vault throws(AgentFailure) in
      vault.callerGrants.grants(madeBy: call.limits)
    }
    return GrantList.Result(grants: grants.map { WireGrant($0) })
  }
}

extension WireGrant {
  init(_ grant: CallerGrant) {
    self.init(
      grant: grant.name, client: grant.client, accounts: grant.accounts, methods: grant.patterns.map(\.text),
      scopes: grant.scopes, resources: grant.resources,
      origins: grant.origins, passOrigins: grant.passOrigins.isEmpty ? nil : grant.passOrigins,
      authorizationDetailTypes: grant.detailTypes,
      capabilities: grant.capabilities.flatMap { $0.isEmpty ? nil : $0 },
      agent: grant.isForAgent ? true : nil, createdAt: grant.createdAt.time, expiresAt: grant.expiresAt)
  }
}
