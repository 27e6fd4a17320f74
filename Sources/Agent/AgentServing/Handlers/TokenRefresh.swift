internal import AgentCore
internal import AgentProtocol
internal import AgentStore

enum TokenRefreshHandler: MethodHandler {
  typealias Method = TokenRefresh

  static func handle(_ params: TokenRefresh.Params, _ call: Call) async throws(AgentFailure) -> TokenRefresh.Result {
    try await TokenGetHandler.token(params, .forced, call)
  }
}
