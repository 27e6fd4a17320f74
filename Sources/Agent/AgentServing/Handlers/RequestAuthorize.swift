internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum RequestAuthorizeHandler: MethodHandler {
  typealias Method = RequestAuthorize

  static func handle(
    _ params: RequestAuthorize.Params, _ call: Call
  ) async throws(AgentFailure) -> RequestAuthorize.Result {
    let account = try await call.agent.accounts.actor(params.account)
    try TokenRejectHandler.refuse(demandIn: params.challenge, of: account.id, call)
    let wanted = RequestToAuthorize(
      account: account.id, method: params.method, url: String(params.url.prefix { $0 != "#" }),
      origins: params.origins.map { RequestTarget.origins($0) }, reach: params.accounts.map { Set($0) },
      limits: try call.agent.callerGrants.requestLimits(of: call.limits, as: params.grant),
      token: TokenKey(resource: params.resource, scopes: params.scopes.map { ScopeSet($0) }),
      rejected: params.rejected, nonce: params.nonce, mayPrompt: params.prompt != nil)
    let authorizer = call.agent.authorizer
    let done = try await withTimeout(seconds: params.timeoutSeconds, clock: call.agent.environment.clock) {
      () async throws(AgentFailure) in try await authorizer.authorize(wanted)
    }
    guard let done else { throw .timedOut(account.id) }
    return RequestAuthorize.Result(
      account: account.id, accessToken: done.accessToken, tokenType: done.tokenType,
      placement: done.placement.map { WireSecretPlacement($0) }, proof: done.proof,
      otherTokens: done.otherTokens, fingerprint: done.fingerprint, expiresAt: done.expiresAt,
      decision: done.decision.map { WireDecision($0) })
  }
}
