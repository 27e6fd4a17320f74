import LoopbackHTTP

extension ProviderState {
  /// `/revoke` (RFC 7009). 200 for an unknown token too: it is not valid, as the client wanted.
  mutating func revoke(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    let form = try Parameters(formOf: request)
    let client = try authenticateClient(request, form)
    guard client.isConfidential || context.options.publicClientsMayRevoke else {
      throw .invalidClient(challenge: false)
    }
    try tokens.revoke(form.required("token"), by: client, reach: context.options.revocationReach)
    return HTTPResponse(status: 200)
  }

  /// `/introspect` (RFC 7662). A public client can introspect only its own tokens.
  mutating func introspect(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    let form = try Parameters(formOf: request)
    let client = try authenticateClient(request, form)
    let value = try form.required("token")
    if let (token, grant) = tokens.validAccessToken(value, in: context),
      client.isConfidential || grant.clientID == client.id
    {
      return .json(
        grant.introspection(
          type: "access_token",
          scopes: token.scopes,
          audience: token.audience,
          expiresAt: token.expiresAtMilliseconds,
          in: context
        )
      )
    }
    if let grant = tokens.activeGrant(ofRefreshToken: value, in: context),
      !context.options.owner(of: grant).isDisabled, client.isConfidential || grant.clientID == client.id
    {
      return .json(
        grant.introspection(
          type: "refresh_token",
          scopes: grant.scopes,
          audience: [],
          expiresAt: tokens.refreshTokens[value]?.expiresAtMilliseconds,
          in: context
        )
      )
    }
    return .json(["active": false])
  }
}

extension Grant {
  /// RFC 7662 section 2.2.
  fileprivate func introspection(
    type: String,
    scopes: [String],
    audience: [String],
    expiresAt: Int64?,
    in context: ProviderContext
  ) -> PracticeJSON {
    let user = context.options.owner(of: self)
    var members: [PracticeJSON.Member] = [
      .init("active", true),
      .init("token_use", .string(type)),
      .init("client_id", .string(clientID)),
      .init("username", .string(user.name)),
      .init("sub", .string(user.subject)),
      .init("tid", .string(user.tenant)),
      .init("scope", .string(scopes.joined(separator: " "))),
      .init("iss", .string(context.issuer.identifier)),
    ]
    if !audience.isEmpty { members.append(.init("aud", .strings(audience))) }
    if let expiresAt { members.append(.init("exp", .integer(expiresAt / 1000))) }
    return .object(members)
  }
}
