internal import Agent
internal import AgentProtocol
internal import AgentSessions
internal import AgentStore

enum SignInCancelHandler: MethodHandler {
  typealias Method = SignInCancel

  static func handle(_ params: SignInCancel.Params, _ call: Call) async throws(AgentFailure) -> SignInCancel.Result {
    try await call.agent.signIns.cancel(params.signIn)
    return SignInCancel.Result(signIn: params.signIn)
  }
}
