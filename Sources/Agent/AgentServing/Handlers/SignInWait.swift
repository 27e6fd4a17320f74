internal import Agent
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentStore

enum SignInWaitHandler: MethodHandler {
  typealias Method = SignInWait

  static func handle(_ params: SignInWait.Params, _ call: Call) async throws(AgentFailure) -> SignInWait.Result {
    try await call.agent.signIns.requireSeen(params.signIn, within: call.limits)
    // The end of the caller's patience is an answer here: `pending`.
    let now = call.agent.environment.clock.boot()
    let deadline = params.timeoutSeconds.map { now + .seconds(Int64($0)) }
    return try answer(params.signIn, try await call.agent.signIns.wait(params.signIn, until: deadline))
  }

  /// Not inlined: what it needs would take its place in the memory of every caller that waits.
  @inline(never) private static func answer(
    _ id: String, _ status: SignInJob.Status
  ) throws(AgentFailure) -> SignInWait.Result {
    if case .pending = status, Task.isCancelled { throw .cancelled }
    return try WireSignInProgress(id, status)
  }
}
