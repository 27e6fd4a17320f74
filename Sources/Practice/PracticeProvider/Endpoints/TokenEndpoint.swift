import LoopbackHTTP

/// `/token` (RFC 6749 section 3.2).
extension ProviderState {
  mutating func token(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    let form = try Parameters(formOf: request)
    let client = try authenticateClient(request, form)
    let key = try provenKey(atTokenEndpoint: request)
    if form["grant_type"] == GrantType.tokenExchange { return try tokens.exchange(form, by: client, key, in: context) }
    let issued: IssuedTokens =
      switch try form.required("grant_type") {
      case GrantType.authorizationCode: try exchangeCode(form, client, key)
      case GrantType.refreshToken: try refresh(form, client, key)
      case GrantType.device: try pollDevice(form, client, key)
      case GrantType.clientCredentials: try clientCredentials(form, client, key)
      default: throw OAuthError(code: "unsupported_grant_type")
      }
    var response =
      dressed(issued, spent: form["refresh_token"]).map { .json($0, headers: [("Pragma", "no-cache")]) }
      ?? issued.response(context.options)
    if key != nil { response.headers += nonceField(for: .tokens) }
    return response
  }

  private mutating func refresh(
    _ form: Parameters, _ client: PracticeClient, _ key: String?
  ) throws(OAuthError) -> IssuedTokens {
    do throws(OAuthError) {
      return try tokens.refresh(form, by: client, key, in: context)
    } catch {
      guard error.code == "invalid_grant", error.refusal == nil else { throw error }
      var dead = error
      dead.refusal = .deadToken
      throw dead
    }
  }

  /// The answer in the words of the guise; nil without one.
  private func dressed(_ issued: IssuedTokens, spent: String?) -> PracticeJSON? {
    guard let guise = context.options.guise, let grant = tokens.grants[issued.grant] else { return nil }
    let values = context.values(of: grant).merging(issued.values(spent: spent)) { $1 }
    let answer = (spent == nil ? guise.token : guise.refresh).filled(with: values) ?? [:]
    return issued.isBound ? answer.changed(by: ["token_type": "DPoP"]) : answer
  }

  private mutating func exchangeCode(
    _ form: Parameters, _ client: PracticeClient, _ key: String?
  ) throws(OAuthError) -> IssuedTokens {
    let value = try form.required("code")
    let code = try authorizations.code(value, of: client)
    if let grantID = code.usedForGrant {
      // RFC 6749 section 4.1.2: a code that is used twice counts as stolen.
      tokens.end(grantID, because: .codeReused)
      throw .invalidGrant("the code was used before; its tokens are revoked")
    }
    try code.check(form, now: context.now)
    if context.options.dpop != .off, let bound = code.request.boundTo, bound != key {
      throw .invalidGrant("the code is bound to another key")
    }
    let resources = try form.resources(of: client, within: code.request.resources)
    let grantID = tokens.newGrant(
      clientID: client.id,
      userIndex: code.userIndex,
      scopes: code.request.scopes,
      resources: code.request.resources,
      details: code.request.details,
      nonce: code.request.nonce,
      authTime: code.authTime,
      sessionID: code.sessionID,
      boundTo: client.isConfidential ? nil : key,
      in: context
    )
    authorizations.use(code: value, for: grantID)
    return tokens.issueFirst(grantID, resources: resources, boundTo: key, in: context)
  }

  /// RFC 6749 section 4.4: a token for the client itself, and no refresh token.
  private mutating func clientCredentials(
    _ form: Parameters, _ client: PracticeClient, _ key: String?
  ) throws(OAuthError) -> IssuedTokens {
    guard client.isConfidential else { throw OAuthError(code: "unauthorized_client") }
    let scopes = form.scopes == nil ? [] : try form.scopes(offeredTo: client, of: context.options.scopes)
    let resources = try form.resources(of: client)
    let grantID = tokens.newGrant(
      clientID: client.id,
      userIndex: nil,
      scopes: scopes,
      resources: resources,
      authTime: context.nowSeconds,
      sessionID: context.newValue("sid_"),
      in: context
    )
    return tokens.issueForClient(grantID, resources: resources, boundTo: key, in: context)
  }

  private mutating func pollDevice(
    _ form: Parameters, _ client: PracticeClient, _ key: String?
  ) throws(OAuthError) -> IssuedTokens {
    let (device, userIndex, authTime) = try devices.poll(form, by: client, in: context)
    let grantID = tokens.newGrant(
      clientID: client.id,
      userIndex: userIndex,
      scopes: device.scopes,
      resources: device.resources,
      details: device.details,
      authTime: authTime,
      sessionID: context.newValue("sid_"),
      boundTo: client.isConfidential ? nil : key,
      in: context
    )
    return tokens.issueFirst(grantID, resources: device.resources, boundTo: key, in: context)
  }
}

extension IssuedTokens {
  /// What a guise says of the tokens. `spent`: the refresh token of the request.
  fileprivate func values(spent: String?) -> GuiseValues {
    var values: GuiseValues = [
      "access_token": .string(accessToken), "expires_in": .integer(Int64(expiresInSeconds)),
      "scope": .string(scopes.joined(separator: " ")),
    ]
    values["refresh_token"] = refreshToken.map { .string($0) }
    values["spent_refresh_token"] = spent.map { .string($0) }
    values["id_token"] = idToken.map { .string($0) }
    return values
  }

  /// RFC 6749 section 5.1.
  fileprivate func response(_ options: PracticeOptions) -> HTTPResponse {
    var members: [PracticeJSON.Member] = [
      .init("access_token", .string(accessToken)),
      .init("token_type", isBound ? "DPoP" : "Bearer"),
    ]
    if options.tellsExpiry { members.append(.init("expires_in", .integer(Int64(expiresInSeconds)))) }
    if let refreshToken {
      members.append(.init("refresh_token", .string(refreshToken)))
      if options.tellsRefreshTokenLifetime, let lifetime = options.refreshTokenLifetimeSeconds {
        members.append(.init("refresh_token_expires_in", .integer(Int64(lifetime))))
      }
    }
    if let refreshIn = options.refreshInSeconds { members.append(.init("refresh_in", .integer(Int64(refreshIn)))) }
    members.append(.init("scope", .string(scopes.joined(separator: " "))))
    members += details.asMember
    if let idToken { members.append(.init("id_token", .string(idToken))) }
    return .json(.object(members), headers: [("Pragma", "no-cache")])
  }
}
