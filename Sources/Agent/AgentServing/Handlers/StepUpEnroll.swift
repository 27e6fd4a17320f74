internal import Agent
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum StepUpEnrollHandler: MethodHandler {
  typealias Method = StepUpEnroll

  static func handle(_ params: StepUpEnroll.Params, _ call: Call) async throws(AgentFailure) -> StepUpEnroll.Result {
    let agent = call.agent
    let asks = try params.method.asksPerson(hasPrompt: params.prompt != nil)
    guard asks || params.pin != nil else {
      throw .invalidParameter("/pin", expected: "a PIN, or a prompt that asks for it")
    }
    let profile = try await agent.vault.profile(params.account)
    // Refused before the person is asked for anything.
    _ = try await agent.vault.read { vault throws(AgentFailure) in
      try vault.stepUp.placeForNew(.pin, of: profile.id, isTyped: asks)
    }
    let pin = try await agent.pin(params.pin, asks: asks, .newPIN(for: profile), of: profile.id)
    let status = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.stepUpCoordinator.enroll(pin, by: .pin, for: profile.id, isTyped: asks)
    }
    return WireStepUpStatus(status, agent)
  }
}

extension WireStepUpMethod? {
  /// True if the agent asks the person in its own prompt; `method` and `prompt` may both say so.
  func asksPerson(hasPrompt: Bool) throws(AgentFailure) -> Bool {
    switch self {
    case .pinentry: return true
    case .pin where hasPrompt: throw .invalidParameter("/method", expected: "`pinentry`, or a `pin` without a prompt")
    default: return hasPrompt
    }
  }
}
