internal import Agent
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol
internal import AgentStore

enum ProviderGetHandler: MethodHandler {
  typealias Method = ProviderGet

  static func handle(_ params: ProviderGet.Params, _ call: Call) async throws(AgentFailure) -> ProviderGet.Result {
    await call.agent.lookAgain()
    let provider = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.providers.provider(params.provider, within: call.limits)
    }
    return ProviderGet.Result(
      provider: WireProvider(provider), trust: WireServerTrust(of: call.agent.client(of: provider)))
  }
}
