internal import Agent
internal import AgentModel
internal import AgentProtocol

enum SignInWaitHandler: MethodHandler {
  typealias Method = SignInWait

  static func handle(_ params: SignInWait.Params, _ call: Call) async throws(AgentFailure) -> SignInWait.Result {
    try await call.agent.signIns.requireSeen(params.signIn, within: call.limits)
    let desk = call.agent.signIns
    let id = params.signIn
    // The end of the caller's patience is an answer here: `pending`.
    let status = try await withDeadline(seconds: params.timeoutSeconds, clock: call.agent.environment.clock) {
      () async throws(AgentFailure) in try await desk.wait(id)
    }
    if status == nil { _ = try await desk.progress(id) }
    return try answer(id, status ?? .pending)
  }

  /// Not inlined: what it needs would take its place in the memory of every caller that waits.
  @inline(never) private static func answer(
    _ id: String, _ status: SignInJob.Status
  ) throws(AgentFailure) -> SignInWait.Result {
    if case .pending = status, Task.isCancelled { throw .cancelled }
    return try WireSignInProgress(id, status)
  }
}
