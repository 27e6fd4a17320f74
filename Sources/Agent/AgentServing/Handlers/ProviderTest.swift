internal import Agent
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol
internal import AgentStore

enum ProviderTestHandler: MethodHandler {
  typealias Method = ProviderTest

  static func handle(_ params: ProviderTest.Params, _ call: Call) async throws(AgentFailure) -> ProviderTest.Result {
    let provider = try await call.agent.vault.read { [limits = call.limits] vault throws(AgentFailure) in
      try vault.providers.provider(params.provider, within: limits)
    }
    let findings = try await call.agent.providerTests.findings(of: provider, in: call.agent)
    return ProviderTest.Result(findings: findings.map { WireFinding($0) })
  }
}
