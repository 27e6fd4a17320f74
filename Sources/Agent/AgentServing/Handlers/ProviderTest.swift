internal import Agent
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import AgentUpkeep

enum ProviderTestHandler: MethodHandler {
  typealias Method = ProviderTest

  static func handle(_ params: ProviderTest.Params, _ call: Call) async throws(AgentFailure) -> ProviderTest.Result {
    let provider = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.providers.provider(named: params.provider.text)
    }
    let findings = try await call.agent.providerTests.findings(of: provider, by: call.agent.setup)
    return ProviderTest.Result(findings: findings.map { WireFinding($0) })
  }
}
