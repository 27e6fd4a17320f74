internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum StepUpUnenrollHandler: MethodHandler {
  typealias Method = StepUpUnenroll

  static func handle(_ params: StepUpUnenroll.Params, _ call: Call) async throws(AgentFailure) -> StepUpUnenroll.Result
  {
    let id = try await call.agent.vault.profile(params.account).id
    return WireStepUpStatus(
      try await call.agent.vault.commit { vault throws(AgentFailure) in try vault.stepUp.unenroll(id) }, call.agent)
  }
}
