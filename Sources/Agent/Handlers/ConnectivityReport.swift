internal import AgentProtocol

enum ConnectivityReportHandler: OrderedMethodHandler {
  typealias Method = ConnectivityReport

  static func handle(_ params: ConnectivityReport.Params, _ call: Call) throws(RPCError) -> ConnectivityReport.Result {
    call.agent.connectivity.report(params.online ? .online : .offline, basis: .report)
    if params.online { call.agent.accounts.reconnected() }
    return call.agent.connectivity.current
  }
}
