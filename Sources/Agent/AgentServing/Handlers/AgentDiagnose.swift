internal import Agent
internal import AgentModel
internal import AgentProtocol
internal import AgentStore

enum AgentDiagnoseHandler: MethodHandler {
  typealias Method = AgentDiagnose

  static func handle(_ params: AgentDiagnose.Params, _ call: Call) async throws(AgentFailure) -> AgentDiagnose.Result {
    if let provider = params.provider {
      let said = try await AgentDiagnosis(of: call.agent).refusals(of: provider, within: call.limits)
      return AgentDiagnose.Result(findings: said.map { WireFinding($0) })
    }
    await call.agent.lookAgain()
    var findings = await AgentDiagnosis(of: call.agent).findings()
    findings += call.server.connectionFindings()
    if params.askProviders { findings += await ProviderDiagnosis(of: call.agent).findings() }
    return AgentDiagnose.Result(findings: findings.map { WireFinding($0) })
  }
}
