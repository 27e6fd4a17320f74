internal import Agent
internal import AgentDecisions
internal import AgentProtocol
internal import AgentStore

enum GrantRevokeHandler: MethodHandler {
  typealias Method = GrantRevoke

  static func handle(_ params: GrantRevoke.Params, _ call: Call) async throws(AgentFailure) -> GrantRevoke.Result {
    try await call.agent.grantRevocations.revoke(params.grant, by: call.limits)
    return GrantRevoke.Result(grant: params.grant)
  }
}
