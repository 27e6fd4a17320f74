internal import Agent
internal import AgentDecisions
internal import AgentProtocol
internal import AgentStore

enum PolicyExplainHandler: MethodHandler {
  typealias Method = PolicyExplain

  static func handle(_ params: PolicyExplain.Params, _ call: Call) async throws(AgentFailure) -> WireDecision {
    await call.agent.lookAgain()
    return WireDecision(
      try await call.agent.decisions.explain(
        params.account, params.capability, at: params.at, assuming: params.assume.map { PolicyAssumption($0) },
        within: call.scopeLimit))
  }
}
