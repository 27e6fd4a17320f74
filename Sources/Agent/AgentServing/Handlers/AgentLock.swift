internal import Agent
internal import AgentProtocol
internal import AgentStore

enum AgentLockHandler: MethodHandler {
  typealias Method = AgentLock

  static func handle(_ params: AgentLock.Params, _ call: Call) async throws(AgentFailure) -> AgentLock.Result {
    await call.agent.lock(because: .request)
    return AgentLock.Result(locked: true)
  }
}
