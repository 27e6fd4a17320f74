internal import AgentProtocol

enum StepUpClearHandler: MethodHandler {
  typealias Method = StepUpClear

  static func handle(_ params: StepUpClear.Params, _ call: Call) async throws(AgentFailure) -> StepUpClear.Result {
    WireStepUpStatus(try await call.agent.vault.clearStepUp(params.account), call.agent)
  }
}
