import LoopbackHTTP

/// Token exchange (RFC 8693): an access token of this client for one with another audience.
extension TokenFamilies {
  private static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
  private static let jwtType = "urn:ietf:params:oauth:token-type:jwt"

  mutating func exchange(
    _ form: Parameters, by client: PracticeClient, _ key: String?, in context: ProviderContext
  ) throws(OAuthError) -> HTTPResponse {
    let subject = try form.required("subject_token")
    guard try form.required("subject_token_type") == Self.accessTokenType else {
      throw .invalidRequest("subject_token_type is not supported")
    }
    let type = form["requested_token_type"] ?? Self.accessTokenType
    guard type == Self.accessTokenType || type == Self.jwtType else {
      throw .invalidRequest("requested_token_type is not supported")
    }
    // RFC 8693 section 2.2.2 says invalid_request; real servers say invalid_grant or invalid_token, which tells more.
    guard let (token, grant) = validAccessToken(subject, in: context), grant.clientID == client.id else {
      throw .invalidGrant("the subject token is not valid")
    }
    let scopes = try form.scopes(within: token.scopes)
    let details = try form.authorizationDetails(context.options)
    var audience = try form.resources(of: client)
    if let name = form["audience"] { audience.append(name) }
    let issued = newAccessToken(grant, scopes: scopes, resources: audience, boundTo: key, in: context)
    return .json(
      .object(
        [
          .init("access_token", .string(issued)), .init("issued_token_type", .string(type)),
          .init("token_type", .string(key == nil ? "Bearer" : "DPoP")),
          .init("expires_in", .integer(Int64(context.options.accessTokenLifetimeSeconds))),
          .init("scope", .string(scopes.joined(separator: " "))),
        ] + details.asMember), headers: [("Pragma", "no-cache")])
  }
}
