internal import Agent
internal import AgentDecisions
internal import AgentProtocol
internal import AgentStore

enum PolicyRefreshHandler: MethodHandler {
  typealias Method = PolicyRefresh

  static func handle(_ params: PolicyRefresh.Params, _ call: Call) async throws(AgentFailure) -> PolicyRefresh.Result {
    try await call.agent.policySource.refresh()
    return PolicyRefresh.Result(policySource: await call.agent.policySource.status().map { WirePolicySource($0) })
  }
}
