internal import AgentModel
internal import AgentProtocol

enum ProviderGetHandler: MethodHandler {
  typealias Method = ProviderGet

  static func handle(_ params: ProviderGet.Params, _ call: Call) async throws(AgentFailure) -> ProviderGet.Result {
    ProviderGet.Result(
      provider: WireProvider(try await call.agent.vault.provider(params.provider, within: call.limits)))
  }
}
