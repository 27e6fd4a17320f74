internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

/// A fresh standard token is answered on the reading thread (`CachedAnswers`); everything else comes here.
enum TokenGetHandler: MethodHandler {
  typealias Method = TokenGet

  static func handle(_ params: TokenGet.Params, _ call: Call) async throws(AgentFailure) -> TokenGet.Result {
    let minimum = Milliseconds.seconds(Int64(params.minimumLifetimeSeconds))
    // Whoever names no time is served a secret to its end.
    if params.minimumLifetimeSeconds != usualLifetimeSeconds {
      try await call.agent.accounts.actor(params.account).requireSecretLives(for: minimum)
    }
    return try await token(params, .usable(minimumLifetime: minimum), call)
  }

  /// The default of the contract.
  private static let usualLifetimeSeconds = 60

  static func token(
    _ params: WireTokenRequest, _ demand: TokenMachine.Demand, _ call: Call
  ) async throws(AgentFailure) -> WireToken {
    let account = try await call.agent.accounts.actor(params.account)
    let key = try call.covered(TokenKey(resource: params.resource, scopes: params.scopes.map { ScopeSet($0) }))
    let answer = try await withTimeout(seconds: params.timeoutSeconds, clock: call.agent.environment.clock) {
      () async throws(AgentFailure) in
      try await account.token(
        key, demand, exactScopes: params.exactScopes, within: call.tokenLimit,
        patience: params.timeoutSeconds == nil ? TokenMachine.callersPatience : nil)
    }
    guard let answer else { throw .timedOut(account.id) }
    return WireToken(answer)
  }
}
