internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum AccountListHandler: MethodHandler {
  typealias Method = AccountList

  static func handle(_ params: AccountList.Params, _ call: Call) async throws(AgentFailure) -> AccountList.Result {
    await call.agent.accounts.settle()
    let (profiles, active) = try await call.agent.vault.read { vault throws(AgentFailure) in
      (vault.directory.sortedProfiles, vault.directory.active)
    }
    return AccountList.Result(
      accounts: profiles.filter(call.sees).map { WireAccount(listed: $0, call.agent, active: active) },
      active: active.flatMap { call.sees($0) ? $0 : nil })
  }
}
