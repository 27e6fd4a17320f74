internal import AgentProtocol

enum AccountGetHandler: MethodHandler {
  typealias Method = AccountGet

  static func handle(_ params: AccountGet.Params, _ call: Call) async throws(AgentFailure) -> AccountGet.Result {
    let vault = call.agent.vault
    let profile = try await vault.profile(params.account)
    return WireAccount(profile, call.agent, active: await vault.active)
  }
}
