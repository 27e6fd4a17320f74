internal import AgentProtocol

enum AccountGetHandler: MethodHandler {
  typealias Method = AccountGet

  static func handle(_ params: AccountGet.Params, _ call: Call) async throws(RPCError) -> AccountGet.Result {
    let registry = call.agent.registry
    let profile = try await registry.profile(params.account)
    return WireAccount(profile, call.agent, active: await registry.active)
  }
}
