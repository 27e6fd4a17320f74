internal import Agent
internal import AgentProtocol

enum AgentDiagnoseHandler: MethodHandler {
  typealias Method = AgentDiagnose

  static func handle(_ params: AgentDiagnose.Params, _ call: Call) async throws(AgentFailure) -> AgentDiagnose.Result {
    var findings = await call.agent.diagnosis()
    findings += call.server.connectionFindings()
    if params.askProviders { findings += await call.agent.diagnoseProviders() }
    return AgentDiagnose.Result(findings: findings.map { WireFinding($0) })
  }
}
