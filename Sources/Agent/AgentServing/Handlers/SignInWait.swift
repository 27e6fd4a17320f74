internal import Agent
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentSessions
internal import AgentStore

enum SignInWaitHandler: MethodHandler {
  typealias Method = SignInWait

  static func handle(_ params: SignInWait.Params, _ call: Call) async throws(AgentFailure) -> SignInWait.Result {
    // The end of the caller's patience is an answer here: `pending`.
    let now = call.agent.environment.clock.boot()
    let deadline = params.timeoutSeconds.map { now + .seconds(Int64($0)) }
    let status = try await call.agent.signIns.wait(params.signIn, until: deadline)
    return try answer(params.signIn, status, await call.agent.signIns.refusals(of: params.signIn))
  }

  /// Not inlined: what it needs would take its place in the memory of every caller that waits.
  @inline(never) private static func answer(
    _ id: String, _ status: SignInJob.Status, _ refusals: SignInJob.Refusals
  ) throws(AgentFailure) -> SignInWait.Result {
    guard case .pending = status else { return try WireSignInProgress(id, status) }
    if Task.isCancelled { throw .cancelled }
    var progress = try WireSignInProgress(id, status)
    if let last = refusals.last {
      progress.refused = refusals.count
      progress.refusedBecause = WireRedirectRefusal(rawValue: last.rawValue)
    }
    return progress
  }
}
