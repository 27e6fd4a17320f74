import LoopbackHTTP

/// `/token` (RFC 6749 section 3.2).
extension ProviderState {
  static let deviceGrantType = "urn:ietf:params:oauth:grant-type:device_code"

  mutating func token(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    let form = try Parameters(formOf: request)
    let client = try authenticateClient(request, form)
    let issued: Issued =
      switch try form.required("grant_type") {
      case "authorization_code": try exchangeCode(form, client)
      case "refresh_token": try refresh(form, client)
      case Self.deviceGrantType: try pollDevice(form, client)
      default: throw OAuthError(code: "unsupported_grant_type")
      }
    return tokenResponse(issued)
  }

  private func tokenResponse(_ issued: Issued) -> HTTPResponse {
    var members: [PracticeJSON.Member] = [
      .init("access_token", .string(issued.accessToken)),
      .init("token_type", "Bearer"),
      .init("expires_in", .integer(Int64(issued.expiresInSeconds))),
    ]
    if let refreshToken = issued.refreshToken {
      members.append(.init("refresh_token", .string(refreshToken)))
      if options.tellsRefreshTokenLifetime, let lifetime = options.refreshTokenLifetimeSeconds {
        members.append(.init("refresh_token_expires_in", .integer(Int64(lifetime))))
      }
    }
    if let refreshIn = options.refreshInSeconds { members.append(.init("refresh_in", .integer(Int64(refreshIn)))) }
    members.append(.init("scope", .string(issued.scopes.joined(separator: " "))))
    if let idToken = issued.idToken { members.append(.init("id_token", .string(idToken))) }
    return .json(.object(members), headers: [("Pragma", "no-cache")])
  }

  // MARK: Authorization code

  private mutating func exchangeCode(_ form: Parameters, _ client: PracticeClient) throws(OAuthError) -> Issued {
    let value = try form.required("code")
    guard let code = codes[value], code.request.clientID == client.id else { throw .invalidGrant("unknown code") }
    if let grantID = code.usedForGrant {
      // RFC 6749 section 4.1.2: a code that is used twice counts as stolen.
      end(grantID, because: .codeReused)
      throw .invalidGrant("the code was used before; its tokens are revoked")
    }
    guard code.expiresAtMilliseconds > now else { throw .invalidGrant("the code has expired") }
    guard form["redirect_uri"] == code.request.redirectURI else { throw .invalidGrant("another redirect_uri") }
    guard let verifier = form["code_verifier"] else { throw .invalidRequest("code_verifier is missing") }
    guard Self.isCodeVerifier(verifier), Base64URL.encode(Digest.sha256(verifier.utf8)) == code.request.codeChallenge
    else { throw .invalidGrant("code_verifier does not match") }
    let resources = try checkedResources(form, client, within: code.request.resources)

    let grantID = newGrant(
      clientID: client.id,
      userIndex: code.userIndex,
      scopes: code.request.scopes,
      resources: code.request.resources,
      nonce: code.request.nonce,
      authTime: code.authTime,
      sessionID: code.sessionID
    )
    codes[value]?.usedForGrant = grantID
    return issueFirst(grantID, resources: resources)
  }

  /// RFC 7636 section 4.1.
  private static func isCodeVerifier(_ text: String) -> Bool {
    (43...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-._~".utf8.contains(byte)
        }
      }
  }

  // MARK: Refresh

  private mutating func refresh(_ form: Parameters, _ client: PracticeClient) throws(OAuthError) -> Issued {
    let value = try form.required("refresh_token")
    guard let token = refreshTokens[value], let grant = grants[token.grantID], grant.clientID == client.id else {
      throw .invalidGrant("unknown refresh token")
    }
    guard grant.end == nil, token.status != .revoked else { throw .invalidGrant("the refresh token is revoked") }
    guard !isExpired(token) else { throw .invalidGrant("the refresh token has expired") }
    // Checked before the token is used up: a request that is refused for its parameters leaves the token as it was.
    let scopes = try narrowedScopes(form, grant)
    let resources = try checkedResources(form, client, within: grant.resources)
    try checkUser(grant)

    let successor: String?
    switch token.status {
    case .current: successor = rotate(value, grant)
    case .replaced(let at, let by): successor = try successorWithinGrace(replacedAt: at, by: by, grant)
    case .revoked: throw .invalidGrant("the refresh token is revoked")
    }
    let accessToken = newAccessToken(grant, scopes: scopes, resources: resources)
    let wantsIDToken = options.idTokenOnRefresh && grant.scopes.contains("openid")
    return Issued(
      accessToken: accessToken,
      refreshToken: successor,
      // OpenID Core section 12.2: no nonce, and auth_time stays that of the sign-in.
      idToken: wantsIDToken ? newIDToken(grant, accessToken: accessToken, nonce: nil) : nil,
      scopes: scopes,
      expiresInSeconds: options.accessTokenLifetimeSeconds,
      grantID: grant.id
    )
  }

  private mutating func rotate(_ value: String, _ grant: Grant) -> String? {
    if options.rotation == .none { return nil }
    let successor = newRefreshToken(grant.id)
    refreshTokens[value]?.status = .replaced(atMilliseconds: now, by: successor)
    return successor
  }

  /// A replaced token is used again: its response was lost, or the token was stolen. RFC 9700 section 4.14.2 ends the
  /// whole family, except in a grace period, in which the same successor is returned.
  private mutating func successorWithinGrace(
    replacedAt: Int64,
    by successor: String,
    _ grant: Grant
  ) throws(OAuthError) -> String? {
    if case .grace(let seconds) = options.rotation, now - replacedAt < Int64(seconds) * 1000,
      refreshTokens[successor]?.status == .current
    {
      return successor
    }
    end(grant.id, because: .refreshTokenReused)
    throw .invalidGrant("the refresh token was used before; its family is revoked")
  }

  /// RFC 6749 section 6: no scope that was not granted.
  private func narrowedScopes(_ form: Parameters, _ grant: Grant) throws(OAuthError) -> [String] {
    guard let wanted = form.scopes else { return grant.scopes }
    guard wanted.allSatisfy(grant.scopes.contains) else {
      throw OAuthError(code: "invalid_scope", description: "more than was granted")
    }
    return wanted
  }

  /// RFC 8707 section 2: absolute URIs without a fragment, allowed for this client and covered by the grant.
  func checkedResources(
    _ form: Parameters,
    _ client: PracticeClient,
    within granted: [String] = []
  ) throws(OAuthError) -> [String] {
    let wanted = form.all("resource")
    if wanted.isEmpty { return granted }
    for resource in wanted {
      guard let colon = resource.firstIndex(of: ":"), colon != resource.startIndex, !resource.contains("#"),
        client.resources?.contains(resource) ?? true, granted.isEmpty || granted.contains(resource)
      else { throw OAuthError(code: "invalid_target", description: "not a resource of this client") }
    }
    return wanted
  }

  func checkUser(_ grant: Grant) throws(OAuthError) {
    guard options.users[grant.userIndex].isDisabled else { return }
    var error = OAuthError.invalidGrant("the grant is not valid")
    if let suberror = options.disabledUserSuberror {
      error.description = "the account is disabled"
      error.members = [.init("suberror", .string(suberror))]
    }
    throw error
  }
}
