internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum AccountSwitchHandler: MethodHandler {
  typealias Method = AccountSwitch

  static func handle(_ params: AccountSwitch.Params, _ call: Call) async throws(AgentFailure) -> AccountSwitch.Result {
    let (profile, previous) = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.accounts.activate(params.account)
    }
    if previous != profile.id {
      call.agent.events.publish(
        .accountSwitched(active: profile.id, previous: previous), account: profile.id)
    }
    return AccountSwitch.Result(
      account: profile.id, active: profile.id, previous: previous.flatMap { call.sees($0) ? $0 : nil })
  }
}
