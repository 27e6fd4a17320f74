internal import AgentProtocol

enum AccountGetHandler: MethodHandler {
  typealias Method = AccountGet

  static func handle(_ params: AccountGet.Params, _ call: Call) async throws(RPCError) -> AccountGet.Result {
    let profile = try await call.agent.registry.profile(params.account)
    return WireAccount(profile, call.agent, active: await call.agent.registry.active)
  }
}
