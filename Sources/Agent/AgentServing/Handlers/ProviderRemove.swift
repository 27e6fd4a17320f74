internal import Agent
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum ProviderRemoveHandler: MethodHandler {
  typealias Method = ProviderRemove

  static func handle(_ params: ProviderRemove.Params, _ call: Call) async throws(AgentFailure) -> ProviderRemove.Result
  {
    await call.agent.lookAgain()
    let removed = try await call.agent.vault.commit { [limits = call.limits] vault throws(AgentFailure) in
      try vault.providers.remove(named: params.provider, by: limits)
    }
    call.agent.setup.takeBackRegistration(of: removed)
    call.agent.environment.refusals.forget(params.provider)
    return ProviderRemove.Result(removed: params.provider)
  }
}
