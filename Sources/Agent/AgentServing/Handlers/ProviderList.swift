internal import AgentProtocol

enum ProviderListHandler: MethodHandler {
  typealias Method = ProviderList

  static func handle(_ params: ProviderList.Params, _ call: Call) async throws(AgentFailure) -> ProviderList.Result {
    ProviderList.Result(
      providers: try await call.agent.vault.sortedProviders(within: call.limits).map { WireProvider($0) })
  }
}
