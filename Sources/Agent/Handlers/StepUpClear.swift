internal import AgentProtocol

enum StepUpClearHandler: MethodHandler {
  typealias Method = StepUpClear

  static func handle(_ params: StepUpClear.Params, _ call: Call) async throws(RPCError) -> StepUpClear.Result {
    let standing = try await call.agent.registry.stepUpStanding(params.account)
    call.agent.stepUps.clear(standing.account)
    return WireStepUpStatus(standing, call.agent)
  }
}
