internal import AgentProtocol

enum ConnectivityReportHandler: OrderedMethodHandler {
  typealias Method = ConnectivityReport

  static func handle(_ params: ConnectivityReport.Params, _ call: Call) throws(RPCError) -> ConnectivityReport.Result {
    call.agent.connectivity.report(params.online ? .online : .offline, basis: .report)
    if params.online {
      let agent = call.agent
      agent.accounts.reconnected()
      // Nobody need ask: what waited for a way is sent.
      agent.background.start { await agent.revocations.resume(now: true) }
    }
    return call.agent.connectivity.current
  }
}
