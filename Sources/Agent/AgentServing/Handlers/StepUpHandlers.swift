internal import Agent
internal import AgentDecisions
internal import AgentModel
internal import AgentPermissions
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

enum StepUpVerifyHandler: MethodHandler {
  typealias Method = StepUpVerify

  static func handle(_ params: StepUpVerify.Params, _ call: Call) async throws(AgentFailure) -> StepUpVerify.Result {
    let agent = call.agent
    let asks = try params.method.asksPerson(hasPrompt: params.prompt != nil)
    // Refused before the person is asked for anything.
    let profile = try await agent.vault.read { vault throws(AgentFailure) in
      try vault.stepUpAttempts.requireAttemptable(params.account, by: .pin)
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

enum StepUpClearHandler: MethodHandler {
  typealias Method = StepUpClear

  static func handle(_ params: StepUpClear.Params, _ call: Call) async throws(AgentFailure) -> StepUpClear.Result {
    let status = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.stepUp.clear(params.account)
    }
    return WireStepUpStatus(status, call.agent)
  }
}

enum StepUpUnenrollHandler: MethodHandler {
  typealias Method = StepUpUnenroll

  static func handle(_ params: StepUpUnenroll.Params, _ call: Call) async throws(AgentFailure) -> StepUpUnenroll.Result
  {
    let id = try await call.agent.vault.profile(params.account).id
    return WireStepUpStatus(
      try await call.agent.vault.commit { vault throws(AgentFailure) in try vault.stepUp.unenroll(id) }, call.agent)
  }
}
