internal import Agent
internal import AgentDecisions
internal import AgentProtocol
internal import AgentStore

enum AuthorizationCheckManyHandler: MethodHandler {
  typealias Method = AuthorizationCheckMany

  static func handle(
    _ params: AuthorizationCheckMany.Params, _ call: Call
  ) async throws(AgentFailure) -> AuthorizationCheckMany.Result {
    await call.agent.lookAgain()
    let (account, decisions) = try await call.agent.decisions.decide(
      params.account, params.capabilities, waitSeconds: params.waitSeconds, within: call.scopeLimit)
    return AuthorizationCheckMany.Result(account: account, decisions: decisions.map { WireDecision($0) })
  }
}
