internal import Agent
internal import AgentCore
internal import AgentProtocol
internal import AgentSessions
internal import AgentStore
internal import AgentWire

enum ConnectivityGetHandler: MethodHandler {
  typealias Method = ConnectivityGet

  static func handle(_ params: ConnectivityGet.Params, _ call: Call) async throws(AgentFailure)
    -> ConnectivityGet.Result
  {
    let connectivity = call.agent.connectivity
    return WireConnectivity(connectivity.current, unreachable: call.limits == nil ? connectivity.unreachable : [])
  }
}

enum ConnectivityReportHandler: OrderedMethodHandler {
  typealias Method = ConnectivityReport

  static func handle(_ params: ConnectivityReport.Params, _ call: Call) throws(AgentFailure)
    -> ConnectivityReport.Result
  {
    call.agent.connectivity.reported(isOnline: params.online)
    if params.online { call.agent.connectivityMayHaveReturned() }
    return WireConnectivity(call.agent.connectivity.current)
  }
}
