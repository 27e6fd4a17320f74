internal import Agent
internal import AgentProtocol
internal import AgentStore

enum AgentShutdownHandler: OrderedMethodHandler {
  typealias Method = AgentShutdown

  static func handle(_ params: AgentShutdown.Params, _ call: Call) throws(AgentFailure) -> AgentShutdown.Result {
    AgentShutdown.Result()
  }

  static func answered(_ result: AgentShutdown.Result, _ call: Call) { call.agent.shutDown() }
}
