internal import Agent
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum ProviderListHandler: MethodHandler {
  typealias Method = ProviderList

  static func handle(_ params: ProviderList.Params, _ call: Call) async throws(AgentFailure) -> ProviderList.Result {
    await call.agent.lookAgain()
    let providers = try await call.agent.vault.read { vault throws(AgentFailure) in
      vault.providers.sorted(within: call.limits)
    }
    return ProviderList.Result(providers: providers.map { WireProvider($0) })
  }
}
