internal import Agent
internal import AgentDecisions
internal import AgentProtocol
internal import AgentStore

enum PolicyListHandler: MethodHandler {
  typealias Method = PolicyList

  static func handle(_ params: PolicyList.Params, _ call: Call) async throws(AgentFailure) -> PolicyList.Result {
    await call.agent.lookAgain()
    let policies = try await call.agent.vault.read { vault throws(AgentFailure) in try vault.policies.inForce() }
    return PolicyList.Result(
      policies: policies.map {
        WirePolicyReference(name: $0.name, version: Int($0.version), source: $0.source?.text)
      })
  }
}
