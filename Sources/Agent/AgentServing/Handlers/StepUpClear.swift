internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum StepUpClearHandler: MethodHandler {
  typealias Method = StepUpClear

  static func handle(_ params: StepUpClear.Params, _ call: Call) async throws(AgentFailure) -> StepUpClear.Result {
    let status = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.stepUp.clear(params.account)
    }
    return WireStepUpStatus(status, call.agent)
  }
}
