/// Makes the signed tokens of a grant, with the provider's current key.
struct TokenSigner {
  var keys: KeyRing
  /// The difference between the ID token of the current response and a valid one.
  var idTokenChange: (claims: [String: PracticeJSON], signature: Fault.IDTokenSignature)?

  /// RFC 9068 section 2.2.
  func accessToken(
    _ grant: Grant, id: String, scopes: [String], audience: [String], boundTo key: String?, in context: ProviderContext
  ) -> String {
    let user = context.options.owner(of: grant)
    let claims: PracticeJSON = [
      "iss": .string(context.issuer.identifier),
      "sub": .string(user.subject),
      "aud": audience.count == 1 ? .string(audience[0]) : .strings(audience),
      "client_id": .string(grant.clientID),
      "iat": .integer(context.nowSeconds),
      "exp": .integer(context.nowSeconds + Int64(context.options.accessTokenLifetimeSeconds)),
      "auth_time": .integer(grant.authTime),
      "jti": .string(id),
      "sid": .string(grant.sessionID),
      "tid": .string(user.tenant),
      "scope": .string(scopes.joined(separator: " ")),
      "roles": .strings(user.roles),
      "entitlements": .strings(user.entitlements),
    ]
    // RFC 9449 section 6.1.
    let confirmation: [String: PracticeJSON] = key.map { ["cnf": ["jkt": .string($0)]] } ?? [:]
    return JWT.sign(claims.changed(by: confirmation), type: "at+jwt", with: keys.current)
  }

  /// OpenID Core sections 2, 3.1.3.6 and 12.2.
  func idToken(_ grant: Grant, accessToken: String, nonce: String?, in context: ProviderContext) -> String {
    let options = context.options
    let user = options.owner(of: grant)
    let key = keys.current
    let issuer =
      options.hasIssuerOfEachTenant ? context.issuer.ofTenant(user.tenant) : context.issuer.identifier
    var members: [PracticeJSON.Member] = [
      .init("iss", .string(issuer)),
      .init("sub", .string(user.subject)),
      .init("aud", .string(grant.clientID)),
      .init("azp", .string(grant.clientID)),
      .init("iat", .integer(context.nowSeconds)),
      .init("exp", .integer(context.nowSeconds + Int64(options.idTokenLifetimeSeconds))),
      .init("auth_time", .integer(grant.authTime)),
      .init("sid", .string(grant.sessionID)),
      .init("tid", .string(user.tenant)),
      .init("at_hash", .string(Self.accessTokenHash(accessToken, key.algorithm))),
    ]
    if let nonce { members.append(.init("nonce", .string(nonce))) }
    members += user.claims(of: grant.scopes)
    let dressed = context.idTokenClaims(.object(members), of: grant)
    let overridden = dressed.changed(by: options.idTokenOverrides)
    let claims = overridden.changed(by: idTokenChange?.claims ?? [:])
    return sign(idToken: claims, with: key, as: idTokenChange?.signature ?? .good)
  }

  /// OpenID Core section 5.3.2. A change of the ID token changes it, too.
  func userInfo(_ claims: PracticeJSON, of grant: Grant, in context: ProviderContext) -> String {
    let whole = claims.changed(by: ["iss": .string(context.issuer.identifier), "aud": .string(grant.clientID)])
    let changed = whole.changed(by: idTokenChange?.claims ?? [:])
    return sign(idToken: changed, with: keys.current, as: idTokenChange?.signature ?? .good)
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
}
