internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum AccountGetHandler: MethodHandler {
  typealias Method = AccountGet

  static func handle(_ params: AccountGet.Params, _ call: Call) async throws(AgentFailure) -> AccountGet.Result {
    await call.agent.accounts.settle(call.agent.tokenCache.accounts(selector: params.account))
    let (profile, active) = try await call.agent.vault.read { vault throws(AgentFailure) in
      (try vault.directory.profile(params.account), vault.directory.active)
    }
    return WireAccount(profile, call.agent, active: active)
  }
}
