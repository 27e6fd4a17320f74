internal import AgentProtocol

enum AccountSwitchHandler: MethodHandler {
  typealias Method = AccountSwitch

  static func handle(_ params: AccountSwitch.Params, _ call: Call) async throws(AgentFailure) -> AccountSwitch.Result {
    let (profile, previous) = try await call.agent.vault.activate(params.account)
    if previous != profile.id {
      call.agent.events.publish(
        AccountSwitchedEvent(active: profile.id, previous: previous), account: profile.id, mentions: previous,
        otherwise: AccountSwitchedEvent(active: profile.id, previous: nil))
    }
    return AccountSwitch.Result(
      account: profile.id, active: profile.id, previous: previous.flatMap { call.sees($0) ? $0 : nil })
  }
}
