internal import Agent
internal import AgentModel
internal import AgentProtocol
internal import AgentStore
internal import AgentUpkeep

enum AgentDiagnoseHandler: MethodHandler {
  typealias Method = AgentDiagnose

  static func handle(_ params: AgentDiagnose.Params, _ call: Call) async throws(AgentFailure) -> AgentDiagnose.Result {
    if let provider = params.provider {
      let said = try await call.agent.diagnosis.refusals(of: provider)
      return AgentDiagnose.Result(findings: said.map { WireFinding($0) })
    }
    await call.agent.lookAgain()
    var findings = await call.agent.diagnosis.findings(within: call.limits)
    findings += call.server.connectionFindings()
    if params.askProviders { findings += await ProviderDiagnosis(by: call.agent.setup).findings(within: call.limits) }
    return AgentDiagnose.Result(findings: findings.map { WireFinding($0) })
  }
}
