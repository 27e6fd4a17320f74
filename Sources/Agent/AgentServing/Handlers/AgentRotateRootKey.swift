internal import Agent
internal import AgentProtocol
internal import AgentStore

enum AgentRotateRootKeyHandler: MethodHandler {
  typealias Method = AgentRotateRootKey

  static func handle(
    _ params: AgentRotateRootKey.Params, _ call: Call
  ) async throws(AgentFailure) -> AgentRotateRootKey.Result {
    AgentRotateRootKey.Result(keyEpoch: Int(try await call.agent.rotateRootKey()))
  }
}
