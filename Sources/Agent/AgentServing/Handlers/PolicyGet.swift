internal import Agent
internal import AgentDecisions
internal import AgentProtocol
internal import AgentStore

enum PolicyGetHandler: MethodHandler {
  typealias Method = PolicyGet

  static func handle(_ params: PolicyGet.Params, _ call: Call) async throws(AgentFailure) -> PolicyGet.Result {
    await call.agent.lookAgain()
    let policy = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.policies.policy(named: params.name)
    }
    return PolicyGet.Result(
      name: policy.name, version: Int(policy.version), policy: policy.document, source: policy.source?.text)
  }
}
