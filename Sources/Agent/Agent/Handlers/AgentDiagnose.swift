internal import AgentProtocol

enum AgentDiagnoseHandler: MethodHandler {
  typealias Method = AgentDiagnose

  static func handle(_ params: AgentDiagnose.Params, _ call: Call) async throws(AgentFailure) -> AgentDiagnose.Result {
    let findings = await call.agent.diagnosis()
    return AgentDiagnose.Result(
      findings: params.askProviders ? findings + (await call.agent.diagnoseProviders()) : findings)
  }
}
