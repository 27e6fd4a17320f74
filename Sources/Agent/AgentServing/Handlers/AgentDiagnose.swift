internal import Agent
internal import AgentProtocol

enum AgentDiagnoseHandler: MethodHandler {
  typealias Method = AgentDiagnose

  static func handle(_ params: AgentDiagnose.Params, _ call: Call) async throws(AgentFailure) -> AgentDiagnose.Result {
    var findings = await AgentDiagnosis(of: call.agent).findings()
    findings += call.server.connectionFindings()
    if params.askProviders { findings += await ProviderDiagnosis(of: call.agent).findings() }
    return AgentDiagnose.Result(findings: findings.map { WireFinding($0) })
  }
}
