internal import Agent
internal import AgentCore
internal import AgentProtocol
internal import AgentSessions
internal import AgentStore

enum ConnectivityGetHandler: MethodHandler {
  typealias Method = ConnectivityGet

  static func handle(_ params: ConnectivityGet.Params, _ call: Call) async throws(AgentFailure)
    -> ConnectivityGet.Result
  {
    WireConnectivity(call.agent.connectivity.current)
  }
}
