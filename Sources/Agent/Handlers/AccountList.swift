internal import AgentProtocol

enum AccountListHandler: MethodHandler {
  typealias Method = AccountList

  static func handle(_ params: AccountList.Params, _ call: Call) async throws(RPCError) -> AccountList.Result {
    let (entries, active) = try await call.agent.registry.directory()
    return AccountList.Result(
      accounts: entries.map { WireAccount($0, call.agent, active: active, dataProtection: $1) }, active: active)
  }
}
