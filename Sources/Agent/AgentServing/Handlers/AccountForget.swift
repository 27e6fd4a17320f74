internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum AccountForgetHandler: MethodHandler {
  typealias Method = AccountForget

  static func handle(_ params: AccountForget.Params, _ call: Call) async throws(AgentFailure) -> AccountForget.Result {
    let agent = call.agent
    let (profile, erased) = try await agent.vault.commit { vault throws(AgentFailure) in
      try vault.signOuts.forget(params.account)
    }
    for id in erased { agent.events.publish(.accountErased, account: id) }
    return AccountForget.Result(account: profile.id)
  }
}
