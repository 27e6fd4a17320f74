internal import AgentProtocol

enum StepUpStatusHandler: MethodHandler {
  typealias Method = StepUpStatus

  static func handle(_ params: StepUpStatus.Params, _ call: Call) async throws(AgentFailure) -> StepUpStatus.Result {
    WireStepUpStatus(try await call.agent.vault.stepUpStatus(params.account), call.agent)
  }
}

extension WireStepUpStatus {
  init(_ status: VaultActor.StepUpStatus, _ agent: AgentService) {
    self.init(
      account: status.account, enrolled: status.isEnrolled,
      validUntil: agent.stepUps.validUntil(status.account), attemptsLeft: status.attemptsLeft)
  }
}
