internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentProtocol
internal import AgentStore
internal import AgentWire

enum AuthorizationCheckHandler: MethodHandler {
  typealias Method = AuthorizationCheck

  static func handle(_ params: AuthorizationCheck.Params, _ call: Call) async throws(AgentFailure) -> WireDecision {
    await call.agent.lookAgain()
    let (_, decisions) = try await call.agent.decisions.decide(
      params.account, [params.capability], context: PolicyContext(params.context),
      waitSeconds: params.waitSeconds, within: call.scopeLimit)
    return WireDecision(decisions[0])
  }
}

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
