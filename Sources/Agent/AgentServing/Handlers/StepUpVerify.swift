internal import Agent
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum StepUpVerifyHandler: MethodHandler {
  typealias Method = StepUpVerify

  static func handle(_ params: StepUpVerify.Params, _ call: Call) async throws(AgentFailure) -> StepUpVerify.Result {
    let agent = call.agent
    let asks = try params.method.asksPerson(hasPrompt: params.prompt != nil)
    // Refused before the person is asked for anything.
    let profile = try await agent.vault.read { vault throws(AgentFailure) in
      try vault.stepUpTries.requireTriable(params.account, by: .pin)
    }
    let pin = try await agent.pin(params.pin, asks: asks, .pin(of: profile), of: profile.id)
    let duration = params.durationSeconds.map { Milliseconds.seconds(Int64($0)) }
    // A guess that was counted is judged, whether its caller still waits or not.
    let validUntil = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.stepUpCoordinator.verify(
        pin, by: .pin, of: profile.id, for: duration, inPrompt: asks)
    }
    // With the PIN its data may be open again.
    agent.background.start { await agent.operations.accountReturned(profile.id) }
    return StepUpVerify.Result(account: profile.id, validUntil: validUntil)
  }
}
