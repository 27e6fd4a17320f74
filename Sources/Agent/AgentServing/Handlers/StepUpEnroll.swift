internal import Agent
internal import AgentModel
internal import AgentProtocol

enum StepUpEnrollHandler: MethodHandler {
  typealias Method = StepUpEnroll

  static func handle(_ params: StepUpEnroll.Params, _ call: Call) async throws(AgentFailure) -> StepUpEnroll.Result {
    let agent = call.agent
    let profile = try await agent.vault.profile(params.account)
    // Refused before the person is asked for anything.
    _ = try await agent.vault.read { vault throws(AgentFailure) in try vault.stepUp.placeForNew(.pin, of: profile.id) }
    let pin = try await agent.pin(params.pin, asks: params.prompt != nil, .newPIN(for: profile), of: profile.id)
    let status = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.stepUpCoordinator.enroll(pin, by: .pin, for: profile.id)
    }
    return WireStepUpStatus(status, agent)
  }
}
