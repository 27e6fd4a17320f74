internal import AgentProtocol

enum AgentDiagnoseHandler: MethodHandler {
  typealias Method = AgentDiagnose

  static func handle(_ params: AgentDiagnose.Params, _ call: Call) async throws(RPCError) -> AgentDiagnose.Result {
    AgentDiagnose.Result(findings: await call.agent.diagnosis())
  }
}
