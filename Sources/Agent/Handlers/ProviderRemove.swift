internal import AgentModel
internal import AgentProtocol

enum ProviderRemoveHandler: MethodHandler {
  typealias Method = ProviderRemove

  static func handle(_ params: ProviderRemove.Params, _ call: Call) async throws(RPCError) -> ProviderRemove.Result {
    try await call.agent.registry.removeProvider(named: params.provider.text)
    return ProviderRemove.Result(removed: params.provider)
  }
}
