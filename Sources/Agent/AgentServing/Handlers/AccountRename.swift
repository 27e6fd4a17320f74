internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum AccountRenameHandler: MethodHandler {
  typealias Method = AccountRename

  static func handle(_ params: AccountRename.Params, _ call: Call) async throws(AgentFailure) -> AccountRename.Result {
    let (profile, previous) = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.accounts.rename(params.account, to: params.alias)
    }
    if previous != params.alias {
      call.agent.events.publish(.accountRenamed(alias: params.alias, previous: previous), account: profile.id)
    }
    return AccountRename.Result(account: profile.id, alias: params.alias)
  }
}
