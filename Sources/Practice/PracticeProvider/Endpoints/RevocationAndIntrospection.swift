import LoopbackHTTP

extension ProviderState {
  /// `/revoke` (RFC 7009). 200 for an unknown token too: it is not valid, as the client wanted.
  mutating func revoke(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    let form = try Parameters(formOf: request)
    let client = try authenticateClient(request, form)
    guard client.isConfidential || options.publicClientsMayRevoke else { throw .invalidClient(challenge: false) }
    let value = try form.required("token")
    guard let grantID = refreshTokens[value]?.grantID ?? accessTokens[value]?.grantID, let grant = grants[grantID]
    else { return HTTPResponse(status: 200) }
    guard grant.clientID == client.id else { throw .invalidGrant("another client's token") }

    if refreshTokens[value] != nil {
      revokeRefreshToken(value, grant)
    } else {
      accessTokens[value]?.isRevoked = true
    }
    return HTTPResponse(status: 200)
  }

  /// RFC 7009 section 2.1: revoking a refresh token also revokes the access tokens of its grant.
  private mutating func revokeRefreshToken(_ value: String, _ grant: Grant) {
    switch options.revocationReach {
    case .token: refreshTokens[value]?.status = .revoked
    case .family: end(grant.id, because: .revoked)
    case .grant:
      for other in grants.values where other.clientID == grant.clientID && other.userIndex == grant.userIndex {
        end(other.id, because: .revoked)
      }
    }
  }

  /// `/introspect` (RFC 7662). A public client can introspect only its own tokens.
  mutating func introspect(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    let form = try Parameters(formOf: request)
    let client = try authenticateClient(request, form)
    let value = try form.required("token")
    let inactive = HTTPResponse.json(["active": false])
    if let (token, grant) = validAccessToken(value), client.isConfidential || grant.clientID == client.id {
      return .json(
        introspection(
          grant,
          type: "access_token",
          scopes: token.scopes,
          audience: token.audience,
          expiresAt: token.expiresAtMilliseconds
        )
      )
    }
    if isActive(refreshToken: value), let token = refreshTokens[value], let grant = grants[token.grantID],
      !options.users[grant.userIndex].isDisabled, client.isConfidential || grant.clientID == client.id
    {
      return .json(
        introspection(
          grant,
          type: "refresh_token",
          scopes: grant.scopes,
          audience: [],
          expiresAt: token.expiresAtMilliseconds
        )
      )
    }
    return inactive
  }

  private func introspection(
    _ grant: Grant,
    type: String,
    scopes: [String],
    audience: [String],
    expiresAt: Int64?
  ) -> PracticeJSON {
    let user = options.users[grant.userIndex]
    var members: [PracticeJSON.Member] = [
      .init("active", true),
      .init("token_use", .string(type)),
      .init("client_id", .string(grant.clientID)),
      .init("username", .string(user.name)),
      .init("sub", .string(user.subject)),
      .init("tid", .string(user.tenant)),
      .init("scope", .string(scopes.joined(separator: " "))),
      .init("iss", .string(issuer.identifier)),
    ]
    if !audience.isEmpty { members.append(.init("aud", .strings(audience))) }
    if let expiresAt { members.append(.init("exp", .integer(expiresAt / 1000))) }
    return .object(members)
  }
}
