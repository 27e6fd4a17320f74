internal import AgentProtocol

enum SessionGetHandler: MethodHandler {
  typealias Method = SessionGet

  static func handle(_ params: SessionGet.Params, _ call: Call) async throws(RPCError) -> SessionGet.Result {
    let (_, account) = try await call.agent.accounts.account(params.account)
    var session = WireSession(try await account.session())
    session.stepUpValidUntil = call.agent.stepUps.validUntil(session.account)
    return session
  }
}
