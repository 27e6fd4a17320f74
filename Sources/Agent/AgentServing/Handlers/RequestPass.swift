internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol
internal import AgentStore

enum RequestPassHandler: MethodHandler {
  typealias Method = RequestPass

  static func handle(_ params: RequestPass.Params, _ call: Call) async throws(AgentFailure) -> RequestPass.Result {
    guard let text = PassedOrigins.normal(params.origin), let origin = HTTPURL(text) else {
      throw .invalidParameter("/origin", expected: "an origin, such as https://pypi.example, without a path")
    }
    guard params.sentBytes == nil, params.receivedBytes == nil else {
      try await call.agent.passes.passed(
        origin, grant: params.grant, sentBytes: Int64(params.sentBytes ?? 0),
        receivedBytes: Int64(params.receivedBytes ?? 0))
      return RequestPass.Result(basis: .reported)
    }
    let passOrigins = params.passOrigins.map { PassedOrigins($0) }
    let wanted = PassRequest(origin: origin, grant: params.grant, passOrigins: passOrigins)
    return RequestPass.Result(basis: try await call.agent.passes.pass(wanted) == .named ? .named : .any)
  }
}
