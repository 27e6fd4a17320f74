/// Issues and ends tokens.
extension ProviderState {
  /// The contents of a token response.
  struct Issued {
    var accessToken: String
    var refreshToken: String?
    var idToken: String?
    var scopes: [String]
    var expiresInSeconds: Int
    var grantID: String
  }

  mutating func newGrant(
    clientID: String,
    userIndex: Int,
    scopes: [String],
    resources: [String],
    nonce: String? = nil,
    authTime: Int64,
    sessionID: String
  ) -> String {
    let id = newValue("grant_")
    grants[id] = Grant(
      id: id,
      clientID: clientID,
      userIndex: userIndex,
      scopes: scopes,
      resources: resources,
      nonce: nonce,
      authTime: authTime,
      sessionID: sessionID
    )
    return id
  }

  /// The first tokens of a grant.
  mutating func issueFirst(_ grantID: String, resources: [String]) -> Issued {
    guard let grant = grants[grantID] else { fatalError("a grant that was just made") }
    let wantsRefreshToken = !options.refreshTokenNeedsOfflineAccess || grant.scopes.contains("offline_access")
    let accessToken = newAccessToken(grant, scopes: grant.scopes, resources: resources)
    let refreshToken = wantsRefreshToken ? newRefreshToken(grantID) : nil
    let idToken =
      grant.scopes.contains("openid") ? newIDToken(grant, accessToken: accessToken, nonce: grant.nonce) : nil
    return Issued(
      accessToken: accessToken,
      refreshToken: refreshToken,
      idToken: idToken,
      scopes: grant.scopes,
      expiresInSeconds: options.accessTokenLifetimeSeconds,
      grantID: grantID
    )
  }

  mutating func newRefreshToken(_ grantID: String) -> String {
    let value = newValue("rt_")
    let expiry = options.refreshTokenLifetimeSeconds.map { now + Int64($0) * 1000 }
    refreshTokens[value] = RefreshToken(grantID: grantID, expiresAtMilliseconds: expiry)
    return value
  }

  mutating func newAccessToken(_ grant: Grant, scopes: [String], resources: [String]) -> String {
    let lifetime = Int64(options.accessTokenLifetimeSeconds)
    let audience = resources.isEmpty ? [issuer.endpoint("/protected")] : resources
    let id = newValue("at_")
    let value =
      options.accessTokenFormat == .opaque
      ? id
      : JWT.sign(
        accessTokenClaims(grant, id: id, scopes: scopes, audience: audience),
        type: "at+jwt",
        with: keys.current
      )
    accessTokens[value] = AccessToken(
      grantID: grant.id,
      scopes: scopes,
      audience: audience,
      issuedAtMilliseconds: now,
      expiresAtMilliseconds: now + lifetime * 1000
    )
    return value
  }

  /// RFC 9068 section 2.2.
  private func accessTokenClaims(_ grant: Grant, id: String, scopes: [String], audience: [String]) -> PracticeJSON {
    let user = options.users[grant.userIndex]
    return [
      "iss": .string(issuer.identifier),
      "sub": .string(user.subject),
      "aud": audience.count == 1 ? .string(audience[0]) : .strings(audience),
      "client_id": .string(grant.clientID),
      "iat": .integer(nowSeconds),
      "exp": .integer(nowSeconds + Int64(options.accessTokenLifetimeSeconds)),
      "auth_time": .integer(grant.authTime),
      "jti": .string(id),
      "sid": .string(grant.sessionID),
      "tid": .string(user.tenant),
      "scope": .string(scopes.joined(separator: " ")),
      "roles": .strings(user.roles),
      "entitlements": .strings(user.entitlements),
    ]
  }

  /// OpenID Core sections 2, 3.1.3.6 and 12.2.
  mutating func newIDToken(_ grant: Grant, accessToken: String, nonce: String?) -> String {
    let user = options.users[grant.userIndex]
    let key = keys.current
    let name = options.hasIssuerOfEachTenant ? issuer.ofTenant(user.tenant) : issuer.identifier
    var members: [PracticeJSON.Member] = [
      .init("iss", .string(name)),
      .init("sub", .string(user.subject)),
      .init("aud", .string(grant.clientID)),
      .init("azp", .string(grant.clientID)),
      .init("iat", .integer(nowSeconds)),
      .init("exp", .integer(nowSeconds + Int64(options.idTokenLifetimeSeconds))),
      .init("auth_time", .integer(grant.authTime)),
      .init("sid", .string(grant.sessionID)),
      .init("tid", .string(user.tenant)),
      .init("at_hash", .string(Self.accessTokenHash(accessToken, key.algorithm))),
    ]
    if let nonce { members.append(.init("nonce", .string(nonce))) }
    members += profileClaims(user, scopes: grant.scopes)
    let overridden = PracticeJSON.object(members).changed(by: options.idTokenOverrides)
    let claims = overridden.changed(by: idTokenChange?.claims ?? [:])
    let token = sign(idToken: claims, with: key, as: idTokenChange?.signature ?? .good)
    idTokens[token] = grant.id
    return token
  }

  func profileClaims(_ user: PracticeUser, scopes: [String]) -> [PracticeJSON.Member] {
    var members: [PracticeJSON.Member] = []
    if scopes.contains("profile") {
      members.append(.init("name", .string(user.displayName)))
      members.append(.init("preferred_username", .string(user.name)))
    }
    if scopes.contains("email") {
      members.append(.init("email", .string(user.email)))
      members.append(.init("email_verified", true))
    }
    members.append(.init("roles", .strings(user.roles)))
    return members
  }

  private func sign(idToken claims: PracticeJSON, with key: SigningKey, as signature: Fault.IDTokenSignature) -> String
  {
    switch signature {
    case .good: return JWT.sign(claims, type: "JWT", with: key)
    case .impostor: return JWT.sign(claims, type: "JWT", with: keys.impostor())
    case .unsigned:
      return JWT.signingInput(header: ["alg": "none", "typ": "JWT"], claims: claims) + "."
    case .unknownKey:
      let header: PracticeJSON = ["alg": .string(key.algorithm.rawValue), "typ": "JWT", "kid": "unpublished"]
      let input = JWT.signingInput(header: header, claims: claims)
      return input + "." + Base64URL.encode(key.sign(Array(input.utf8)))
    case .broken:
      let good = JWT.sign(claims, type: "JWT", with: key)
      let parts = good.split(separator: ".").map(String.init)
      var bytes = Base64URL.decode(parts[2]) ?? []
      bytes[bytes.count / 2] ^= 1
      return parts[0] + "." + parts[1] + "." + Base64URL.encode(bytes)
    }
  }

  /// OpenID Core section 3.1.3.6: the left half of the hash that the signature's algorithm uses.
  private static func accessTokenHash(_ token: String, _ algorithm: SigningAlgorithm) -> String {
    switch algorithm {
    case .rs256, .es256: Base64URL.encode(Digest.sha256(token.utf8).prefix(16))
    case .rs512, .edDSA: Base64URL.encode(Digest.sha512(token.utf8).prefix(32))
    }
  }

  // MARK: Ending

  /// Ends a family: all of its tokens are invalid from now on.
  mutating func end(_ grantID: String, because end: Grant.End) {
    guard grants[grantID]?.end == nil else { return }
    grants[grantID]?.end = end
  }

  func isActive(refreshToken value: String) -> Bool {
    guard let token = refreshTokens[value], let grant = grants[token.grantID] else { return false }
    return token.status == .current && grant.end == nil && !isExpired(token)
  }

  func isExpired(_ token: RefreshToken) -> Bool { token.expiresAtMilliseconds.map { $0 <= now } ?? false }

  /// The token with its grant, if it is valid now.
  func validAccessToken(_ value: String) -> (token: AccessToken, grant: Grant)? {
    guard let token = accessTokens[value], let grant = grants[token.grantID], !token.isRevoked, grant.end == nil,
      token.expiresAtMilliseconds > now, !options.users[grant.userIndex].isDisabled
    else { return nil }
    return (token, grant)
  }
}
