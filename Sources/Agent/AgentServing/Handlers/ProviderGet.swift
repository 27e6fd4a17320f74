internal import Agent
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum ProviderGetHandler: MethodHandler {
  typealias Method = ProviderGet

  static func handle(_ params: ProviderGet.Params, _ call: Call) async throws(AgentFailure) -> ProviderGet.Result {
    await call.agent.lookAgain()
    let provider = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.providers.provider(named: params.provider.text)
    }
    return ProviderGet.Result(
      provider: WireProvider(provider), trust: WireServerTrust(of: call.agent.setup.client(of: provider)))
  }
}
