internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum StepUpStatusHandler: MethodHandler {
  typealias Method = StepUpStatus

  static func handle(_ params: StepUpStatus.Params, _ call: Call) async throws(AgentFailure) -> StepUpStatus.Result {
    let status = try await call.agent.vault.read { vault throws(AgentFailure) in try vault.stepUp.status(params.account)
    }
    return WireStepUpStatus(status, call.agent)
  }
}

extension WireStepUpStatus {
  init(_ status: StepUpState, _ agent: AgentService) {
    self.init(
      account: status.account, enrolled: status.isEnrolled,
      validUntil: agent.stepUps.validUntil(status.account).map { agent.time.moment($0, of: status.provider) },
      attemptsLeft: status.attemptsLeft)
  }
}
