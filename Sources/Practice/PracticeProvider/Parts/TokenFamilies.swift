/// The families of tokens, one for each sign-in: issues, rotates and ends their tokens.
struct TokenFamilies {
  private(set) var grants: [String: Grant] = [:]
  private(set) var refreshTokens: [String: RefreshToken] = [:]
  private var accessTokens: [String: AccessToken] = [:]
  /// The grant of each ID token, for `id_token_hint`.
  private var idTokens: [String: String] = [:]
  var signer: TokenSigner

  init(signer: TokenSigner) { self.signer = signer }

  // MARK: Issuing

  /// A new family. Its first tokens come from `issueFirst`.
  mutating func newGrant(
    clientID: String,
    userIndex: Int?,
    scopes: [String],
    resources: [String],
    details: [PracticeJSON]? = nil,
    nonce: String? = nil,
    authTime: Int64,
    sessionID: String,
    boundTo thumbprint: String? = nil,
    in context: ProviderContext
  ) -> String {
    let id = context.newValue("grant_")
    grants[id] = Grant(
      id: id,
      clientID: clientID,
      userIndex: userIndex,
      scopes: scopes,
      resources: resources,
      details: details,
      nonce: nonce,
      authTime: authTime,
      sessionID: sessionID,
      thumbprint: thumbprint
    )
    return id
  }

  /// The first tokens of a grant.
  mutating func issueFirst(
    _ grantID: String, resources: [String], boundTo key: String? = nil, in context: ProviderContext
  ) -> IssuedTokens {
    guard let grant = grants[grantID] else { fatalError("a grant that was just made") }
    let wantsRefreshToken =
      context.options.issuesRefreshTokens
      && (!context.options.refreshTokenNeedsOfflineAccess || grant.scopes.contains("offline_access"))
    let accessToken = newAccessToken(grant, scopes: grant.scopes, resources: resources, boundTo: key, in: context)
    let refreshToken = wantsRefreshToken ? newRefreshToken(grantID, in: context) : nil
    let idToken =
      context.options.isOpenID && grant.scopes.contains("openid")
      ? newIDToken(grant, accessToken: accessToken, nonce: grant.nonce, in: context) : nil
    return IssuedTokens(
      accessToken: accessToken,
      refreshToken: refreshToken,
      idToken: idToken,
      scopes: grant.scopes,
      details: grant.details,
      expiresInSeconds: context.options.accessTokenLifetimeSeconds,
      grant: grantID,
      isBound: key != nil
    )
  }

  /// The token of a client's own grant.
  mutating func issueForClient(
    _ grantID: String, resources: [String], boundTo key: String?, in context: ProviderContext
  ) -> IssuedTokens {
    guard let grant = grants[grantID] else { fatalError("a grant that was just made") }
    return IssuedTokens(
      accessToken: newAccessToken(grant, scopes: grant.scopes, resources: resources, boundTo: key, in: context),
      refreshToken: nil,
      idToken: nil,
      scopes: grant.scopes,
      details: nil,
      expiresInSeconds: context.options.accessTokenLifetimeSeconds,
      grant: grantID,
      isBound: key != nil
    )
  }

  /// Issues tokens as a sign-in would, without one.
  mutating func signIn(
    userIndex: Int, client: PracticeClient, scopes: [String]?, resources: [String] = [], in context: ProviderContext
  ) -> IssuedTokens {
    let defaults = ["openid", "profile", "email", "offline_access"]
    let grantID = newGrant(
      clientID: client.id,
      userIndex: userIndex,
      scopes: scopes ?? defaults.filter { client.scopes?.contains($0) ?? true },
      resources: resources,
      authTime: context.nowSeconds,
      sessionID: context.newValue("sid_"),
      in: context
    )
    return issueFirst(grantID, resources: resources, in: context)
  }

  private mutating func newRefreshToken(_ grantID: String, in context: ProviderContext) -> String {
    let value = context.newValue("rt_")
    let expiry = context.options.refreshTokenLifetimeSeconds.map { context.now + Int64($0) * 1000 }
    refreshTokens[value] = RefreshToken(grantID: grantID, expiresAtMilliseconds: expiry)
    return value
  }

  mutating func newAccessToken(
    _ grant: Grant, scopes: [String], resources: [String], boundTo key: String?, in context: ProviderContext
  ) -> String {
    let options = context.options
    let audience = resources.isEmpty ? [context.issuer.endpoint("/protected")] : resources
    let id = context.newValue("at_")
    let value =
      options.accessTokenFormat == .opaque
      ? id : signer.accessToken(grant, id: id, scopes: scopes, audience: audience, boundTo: key, in: context)
    accessTokens[value] = AccessToken(
      grantID: grant.id,
      scopes: scopes,
      audience: audience,
      expiresAtMilliseconds: context.now + Int64(options.accessTokenLifetimeSeconds) * 1000,
      thumbprint: key
    )
    return value
  }

  private mutating func newIDToken(
    _ grant: Grant, accessToken: String, nonce: String?, in context: ProviderContext
  ) -> String {
    let token = signer.idToken(grant, accessToken: accessToken, nonce: nonce, in: context)
    idTokens[token] = grant.id
    return token
  }

  // MARK: Refresh

  mutating func refresh(
    _ form: Parameters, by client: PracticeClient, _ key: String? = nil, in context: ProviderContext
  ) throws(OAuthError) -> IssuedTokens {
    let value = try form.required("refresh_token")
    guard let token = refreshTokens[value], let grant = grants[token.grantID], grant.clientID == client.id else {
      throw .invalidGrant("unknown refresh token")
    }
    guard grant.end == nil, token.status != .revoked else { throw .invalidGrant("the refresh token is revoked") }
    guard !token.isExpired(at: context.now) else { throw .invalidGrant("the refresh token has expired") }
    if let bound = grant.thumbprint, bound != key { throw .invalidGrant("the refresh token is bound to another key") }
    // Checked before the token is used up: a request that is refused for its parameters leaves the token as it was.
    let scopes = try form.scopes(within: grant.scopes)
    let resources = try form.resources(of: client, within: grant.resources)
    if let index = grant.userIndex { try context.options.checkUser(index) }

    let successor: String?
    switch token.status {
    case .current: successor = rotate(value, grant, in: context)
    case .replaced(let at, let by): successor = try successorWithinGrace(replacedAt: at, by: by, grant, in: context)
    case .revoked: throw .invalidGrant("the refresh token is revoked")
    }
    let accessToken = newAccessToken(grant, scopes: scopes, resources: resources, boundTo: key, in: context)
    let wantsIDToken = context.options.isOpenID && context.options.idTokenOnRefresh && grant.scopes.contains("openid")
    return IssuedTokens(
      accessToken: accessToken,
      refreshToken: successor,
      // OpenID Core section 12.2: no nonce, and auth_time stays that of the sign-in.
      idToken: wantsIDToken ? newIDToken(grant, accessToken: accessToken, nonce: nil, in: context) : nil,
      scopes: scopes,
      details: grant.details,
      expiresInSeconds: context.options.accessTokenLifetimeSeconds,
      grant: grant.id,
      isBound: key != nil
    )
  }

  private mutating func rotate(_ value: String, _ grant: Grant, in context: ProviderContext) -> String? {
    if context.options.rotation == .none { return nil }
    let successor = newRefreshToken(grant.id, in: context)
    if context.options.rotation == .renewed { return successor }
    refreshTokens[value]?.status = .replaced(atMilliseconds: context.now, by: successor)
    return successor
  }

  /// A replaced token is used again: its response was lost, or the token was stolen. RFC 9700 section 4.14.2 ends the
  /// whole family, except in a grace period, in which the same successor is returned.
  private mutating func successorWithinGrace(
    replacedAt: Int64, by successor: String, _ grant: Grant, in context: ProviderContext
  ) throws(OAuthError) -> String? {
    if case .grace(let seconds) = context.options.rotation, context.now - replacedAt < Int64(seconds) * 1000,
      refreshTokens[successor]?.status == .current
    {
      return successor
    }
    end(grant.id, because: .refreshTokenReused)
    throw .invalidGrant("the refresh token was used before; its family is revoked")
  }

  // MARK: Ending

  /// Ends a family: all of its tokens are invalid from now on.
  mutating func end(_ grantID: String, because end: Grant.End) {
    guard grants[grantID]?.end == nil else { return }
    grants[grantID]?.end = end
  }

  /// Ends the families that are meant; returns how many were valid.
  @discardableResult
  mutating func endAll(because end: Grant.End, where isMeant: (Grant) -> Bool) -> Int {
    let meant = grants.values.filter { $0.end == nil && isMeant($0) }
    for grant in meant { self.end(grant.id, because: end) }
    return meant.count
  }

  /// `/revoke` (RFC 7009) for an authenticated client.
  mutating func revoke(
    _ value: String, by client: PracticeClient, reach: RevocationReach
  ) throws(OAuthError) {
    guard let grant = grant(ofToken: value) else { return }
    guard grant.clientID == client.id else { throw .invalidGrant("another client's token") }
    guard refreshTokens[value] != nil else {
      accessTokens[value]?.isRevoked = true
      return
    }
    // RFC 7009 section 2.1: revoking a refresh token also revokes the access tokens of its grant.
    switch reach {
    case .token: revoke(refreshToken: value)
    case .family: end(grant.id, because: .revoked)
    case .grant:
      endAll(because: .revoked) { $0.clientID == grant.clientID && $0.userIndex == grant.userIndex }
    }
  }

  mutating func revoke(refreshToken value: String) { refreshTokens[value]?.status = .revoked }

  // MARK: Looking up

  /// The family of a refresh or access token.
  func grant(ofToken value: String) -> Grant? {
    (refreshTokens[value]?.grantID ?? accessTokens[value]?.grantID).flatMap { grants[$0] }
  }

  func grant(ofIDToken value: String) -> Grant? { idTokens[value].flatMap { grants[$0] } }

  /// The grant of a refresh token with which a refresh would succeed now.
  func activeGrant(ofRefreshToken value: String, in context: ProviderContext) -> Grant? {
    guard let token = refreshTokens[value], let grant = grants[token.grantID], token.status == .current,
      grant.end == nil, !token.isExpired(at: context.now)
    else { return nil }
    return grant
  }

  /// The token with its grant, if it is valid now.
  func validAccessToken(_ value: String, in context: ProviderContext) -> (token: AccessToken, grant: Grant)? {
    guard let token = accessTokens[value], let grant = grants[token.grantID], !token.isRevoked, grant.end == nil,
      token.expiresAtMilliseconds > context.now, !context.options.owner(of: grant).isDisabled
    else { return nil }
    return (token, grant)
  }
}
