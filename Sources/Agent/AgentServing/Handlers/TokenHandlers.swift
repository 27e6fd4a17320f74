internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import AgentWire
internal import JSONRPC

/// The params of `token.get` and `token.refresh`. A lifetime that the caller names counts for a secret, too; the default
/// doesn't, so that a secret is served to its end.
struct TokenParams: WireReadable, AccountScopedParams {
  var request: WireTokenRequest
  let namesLifetime: Bool

  var account: AccountSelector {
    get { request.account }
    set { request.account = newValue }
  }

  var minimumLifetime: Milliseconds { .seconds(Int64(request.minimumLifetimeSeconds)) }

  init(from node: JSONNode) throws(ParamsProblem) {
    request = try WireTokenRequest(from: node)
    namesLifetime = node["minimumLifetimeSeconds"] != nil
  }
}

/// A fresh standard token is answered on the reading thread (`CachedAnswers`); everything else comes here.
enum TokenGetHandler: MethodHandler {
  enum Method: RPCMethod {
    typealias Params = TokenParams
    typealias Result = TokenGet.Result
    static var info: MethodInfo { TokenGet.info }
  }

  static func handle(_ params: TokenParams, _ call: Call) async throws(AgentFailure) -> TokenGet.Result {
    try await token(params, .usable(minimumLifetime: params.minimumLifetime), call)
  }

  static func token(
    _ named: TokenParams, _ demand: TokenMachine.Demand, _ call: Call
  ) async throws(AgentFailure) -> WireToken {
    let params = named.request
    let account = try await call.agent.accounts.actor(params.account)
    if named.namesLifetime { try await account.requireSecretLives(for: named.minimumLifetime) }
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

enum TokenRefreshHandler: MethodHandler {
  enum Method: RPCMethod {
    typealias Params = TokenParams
    typealias Result = TokenRefresh.Result
    static var info: MethodInfo { TokenRefresh.info }
  }

  static func handle(_ params: TokenParams, _ call: Call) async throws(AgentFailure) -> TokenRefresh.Result {
    try await TokenGetHandler.token(params, .forced, call)
  }
}

/// Answers after a resource refused a token: with the current token if the refused one was older, otherwise with the
/// result of one forced exchange.
enum TokenRejectHandler: MethodHandler {
  typealias Method = TokenReject

  static func handle(_ params: TokenReject.Params, _ call: Call) async throws(AgentFailure) -> TokenReject.Result {
    let account = try await call.agent.accounts.actor(params.account)
    try await refuse(demandIn: params.challenge, against: params.fingerprint, of: account, call)
    if let exchanged = try await account.replacementOfDerived(
      params.fingerprint, within: call.limits?.permission)
    {
      return WireToken(exchanged)
    }
    return WireToken(try await account.replacement(of: params.fingerprint, within: call.limits?.permission))
  }

  /// A challenge that no exchange can answer: the resource wants the person (RFC 9470 §3). It is noted for the next
  /// sign-in, unless the caller is limited: the challenge is its own word, and it has no part in what the person's
  /// sign-in asks for.
  static func refuse(
    demandIn challenge: String?, against fingerprint: String?, of account: Account, _ call: Call
  ) async throws(AgentFailure) {
    guard let challenge, let demand = try await account.demand(in: challenge, against: fingerprint) else { return }
    if call.limits == nil { call.agent.demands.note(demand, of: account.id) }
    throw .challenged(demand, account.id)
  }
}

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

enum IdentityGetHandler: MethodHandler {
  typealias Method = IdentityGet

  static func handle(_ params: IdentityGet.Params, _ call: Call) async throws(AgentFailure) -> IdentityGet.Result {
    if call.limits?.permission.coversIDToken == false { throw .caller(.notCovered) }
    let account = try await call.agent.accounts.actor(params.account)
    let minimum = Milliseconds.seconds(Int64(params.minimumLifetimeSeconds))
    let answer = try await withTimeout(seconds: params.timeoutSeconds, clock: call.agent.environment.clock) {
      () async throws(AgentFailure) in
      try await account.idToken(
        minimumLifetime: minimum, patience: params.timeoutSeconds == nil ? TokenMachine.callersPatience : nil)
    }
    guard let answer else { throw .timedOut(account.id) }
    return IdentityGet.Result(
      idToken: answer.secret, expiresAt: answer.expiresAt, expiresInSeconds: Int(answer.expiresInSeconds),
      audience: answer.audiences, issuer: answer.issuer, account: answer.account)
  }
}

enum CredentialAwsHandler: MethodHandler {
  typealias Method = CredentialAws

  static func handle(_ params: CredentialAws.Params, _ call: Call) async throws(AgentFailure) -> CredentialAws.Result {
    // What goes to the service is the person's ID token.
    if call.limits?.permission.coversIDToken == false { throw .caller(.notCovered) }
    let role = try role(params)
    // A caller with a grant must not have the ID token sent where it likes.
    if call.limits != nil, !role.isAtAWS { throw .caller(.notCovered) }
    let account = try await call.agent.accounts.actor(params.account)
    let answer = try await withTimeout(seconds: params.timeoutSeconds, clock: call.agent.environment.clock) {
      () async throws(AgentFailure) in
      try await account.credentials(of: role)
    }
    guard let answer else { throw .timedOut(account.id) }
    return CredentialAws.Result(
      accessKeyId: answer.accessKeyID, secretAccessKey: answer.secretAccessKey, sessionToken: answer.sessionToken,
      expiresAt: answer.expiresAt, expiresInSeconds: Int(answer.expiresInSeconds), account: answer.account)
  }

  private static func role(_ params: CredentialAws.Params) throws(AgentFailure) -> RoleSession {
    do throws(RoleSession.Problem) {
      return try RoleSession(
        roleARN: params.roleArn, name: params.sessionName, durationSeconds: params.durationSeconds,
        endpoint: params.endpoint)
    } catch {
      switch error {
      case .role: throw .invalidParameter("/roleArn", expected: "arn:aws:iam::ACCOUNT:role/NAME")
      case .name:
        throw .invalidParameter("/sessionName", expected: "2 to 64 letters, digits and characters of _+=,.@-")
      case .endpoint:
        throw .invalidParameter("/endpoint", expected: "an https URL without a query, or http on a loopback host")
      }
    }
  }
}

enum ExecBeginHandler: MethodHandler {
  typealias Method = ExecBegin

  static func handle(_ params: ExecBegin.Params, _ call: Call) async throws(AgentFailure) -> ExecBegin.Result {
    let account = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.audit.lending(params.account, to: params.program)
    }
    return ExecBegin.Result(account: account)
  }
}

enum TokenProofHandler: MethodHandler {
  typealias Method = TokenProof

  static func handle(_ params: TokenProof.Params, _ call: Call) async throws(AgentFailure) -> TokenProof.Result {
    // The fragment is no part of a request (RFC 9110 §4.2.5).
    guard let url = HTTPURL(String(params.url.prefix { $0 != "#" })), url.scheme == .https || url.isLoopback else {
      throw .invalidParameter(
        "/url", expected: "an https URL without user information; http only on a loopback host")
    }
    guard RequestMachine.canSend(params.method) else {
      throw .invalidParameter("/method", expected: RequestMachine.expectedMethod)
    }
    let account = try await call.agent.accounts.actor(params.account)
    let request = ProofRequest(
      method: params.method, url: url, fingerprint: params.fingerprint, nonce: params.nonce,
      permission: call.limits?.permission)
    let (proof, thumbprint) = try await account.proof(for: request)
    return TokenProof.Result(proof: proof, thumbprint: thumbprint, account: account.id)
  }
}
