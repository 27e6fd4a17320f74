internal import AgentProtocol

enum AccountForgetHandler: MethodHandler {
  typealias Method = AccountForget

  static func handle(_ params: AccountForget.Params, _ call: Call) async throws(RPCError) -> AccountForget.Result {
    let profile = try await call.agent.registry.forget(params.account)
    call.agent.events.publish(AccountErasedEvent(), account: profile.id)
    return AccountForget.Result(account: profile.id)
  }
}
