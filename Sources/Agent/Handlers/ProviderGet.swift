internal import AgentModel
internal import AgentProtocol

enum ProviderGetHandler: MethodHandler {
  typealias Method = ProviderGet

  static func handle(_ params: ProviderGet.Params, _ call: Call) async throws(RPCError) -> ProviderGet.Result {
    let all = try await call.agent.registry.sortedProviders(for: call)
    guard let provider = all.first(where: { $0.configuration.name == params.provider }) else { throw .providerNotFound }
    return ProviderGet.Result(provider: WireProvider(provider))
  }
}
