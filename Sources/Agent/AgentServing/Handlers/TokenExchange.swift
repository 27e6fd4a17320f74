internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum TokenExchangeHandler: MethodHandler {
  typealias Method = TokenExchange

  static func handle(_ params: TokenExchange.Params, _ call: Call) async throws(AgentFailure) -> TokenExchange.Result {
    guard params.requestedTokenType != ExchangedToken.TokenType.refreshToken else {
      throw .invalidParameter("/requestedTokenType", expected: "a type other than that of refresh tokens")
    }
    let scopes = params.scopes.flatMap { $0.isEmpty ? nil : ScopeSet($0) }
    let wish = DerivedTokenKey(
      audience: params.audience, resource: params.resource, scopes: scopes, type: params.requestedTokenType,
      details: try params.authorizationDetails.flatMap { (objects) throws(AgentFailure) in
        try AuthorizationDetails.requested(objects)
      })
    let account = try await call.agent.accounts.actor(params.account)
    let permission = call.limits?.permission
    let answer = try await withTimeout(seconds: params.timeoutSeconds, clock: call.agent.environment.clock) {
      () async throws(AgentFailure) in
      try await account.derivedToken(wish, within: permission)
    }
    guard let answer else { throw .timedOut(account.id) }
    let token = WireToken(answer)
    return TokenExchange.Result(
      accessToken: token.accessToken, tokenType: token.tokenType, expiresAt: token.expiresAt,
      expiresInSeconds: token.expiresInSeconds, account: token.account, issuer: token.issuer, scopes: token.scopes,
      resource: token.resource, source: token.source, fingerprint: token.fingerprint, generation: token.generation,
      authorizationDetails: answer.token.details?.objects, issuedTokenType: answer.token.issuedTokenType)
  }
}
