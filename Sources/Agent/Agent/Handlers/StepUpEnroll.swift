internal import AgentModel
internal import AgentProtocol

enum StepUpEnrollHandler: MethodHandler {
  typealias Method = StepUpEnroll

  static func handle(_ params: StepUpEnroll.Params, _ call: Call) async throws(RPCError) -> StepUpEnroll.Result {
    let agent = call.agent
    let profile = try await agent.registry.profile(params.account)
    // Refused before the person is asked for anything.
    _ = try await agent.registry.placeForNew(.pin, of: profile.id)
    let pin = try await agent.pin(params.pin, params.prompt, .newPIN(for: profile), of: profile.id)
    let standing = try await agent.background.finish { () async throws(RPCError) in
      try await agent.stepUpDesk.enroll(pin, by: .pin, for: profile.id)
    }
    return WireStepUpStatus(standing, agent)
  }
}
