internal import AgentProtocol

enum StepUpStatusHandler: MethodHandler {
  typealias Method = StepUpStatus

  static func handle(_ params: StepUpStatus.Params, _ call: Call) async throws(RPCError) -> StepUpStatus.Result {
    WireStepUpStatus(try await call.agent.registry.stepUpStanding(params.account), call.agent)
  }
}

extension WireStepUpStatus {
  init(_ standing: Registry.StepUpStanding, _ agent: AgentService) {
    self.init(
      account: standing.account, enrolled: standing.isEnrolled,
      validUntil: agent.stepUps.validUntil(standing.account), attemptsLeft: standing.attemptsLeft)
  }
}
