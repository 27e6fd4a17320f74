import LoopbackHTTP

/// The resources: `/userinfo`, `/entitlements`, `/protected`.
extension ProviderState {
  /// The token of the request (RFC 6750 section 2.1), or the challenge of section 3.
  private mutating func authorized(_ request: HTTPRequest) throws(OAuthError) -> (token: AccessToken, grant: Grant) {
    if let bound = try boundToken(request) { return bound }
    guard let header = request.header("Authorization") else { throw .challenge(nil) }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw .challenge(nil) }
    // RFC 9449 section 7.2: a bound token is none for the other scheme.
    guard let valid = tokens.validAccessToken(String(parts[1]), in: context), valid.token.thumbprint == nil else {
      throw .challenge("invalid_token", description: "the access token is expired, revoked or unknown")
    }
    return valid
  }

  /// OpenID Core section 5.3.
  mutating func userInfo(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    let (token, grant) = try authorized(request)
    let claims: PracticeJSON
    if let guise = context.options.guise {
      claims = guise.userInfo.filled(with: context.values(of: grant)) ?? [:]
    } else {
      guard token.scopes.contains("openid") else {
        throw .challenge("insufficient_scope", status: 403, more: [("scope", "openid")])
      }
      let user = context.options.owner(of: grant)
      let members: [PracticeJSON.Member] = [.init("sub", .string(user.subject)), .init("tid", .string(user.tenant))]
      claims = .object(members + user.claims(of: token.scopes))
    }
    guard context.options.signsUserInfo else { return .json(claims) }
    let signed = tokens.signer.userInfo(claims, of: grant, in: context)
    return HTTPResponse(status: 200, headers: [("Content-Type", "application/jwt")], body: Array(signed.utf8))
  }

  /// The user's current entitlements, not those at the time of the token.
  mutating func entitlements(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    let (token, grant) = try authorized(request)
    let user = context.options.owner(of: grant)
    return .json([
      "sub": .string(user.subject),
      "tid": .string(user.tenant),
      "roles": .strings(user.roles),
      "scopes": .strings(token.scopes),
      "entitlements": .strings(user.entitlements),
      "version": .integer(user.version),
    ])
  }

  /// A resource that needs a token. The query may demand more: `scope`, `audience`, `max_age` (RFC 9470), `claims`.
  /// With `echo` in the query it carelessly repeats the request's credentials.
  mutating func protectedResource(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    let (token, grant) = try authorized(request)
    try token.check(request.queryItems, age: context.nowSeconds - grant.authTime)
    let user = context.options.owner(of: grant)
    let effect = effects.perform(request)
    if request.queryItems.contains(where: { $0.name == "echo" }) {
      return .json(["authorization": .string(request.header("Authorization") ?? "")])
    }
    return .json(
      [
        "sub": .string(user.subject),
        "tid": .string(user.tenant),
        "client_id": .string(grant.clientID),
        "scope": .string(token.scopes.joined(separator: " ")),
        "aud": .strings(token.audience),
        "roles": .strings(user.roles),
        "method": .string(request.method),
        "path": .string(request.path),
        "bodyBytes": .integer(Int64(request.body.count)),
        "effect": .integer(effect),
      ], headers: token.thumbprint == nil ? [] : nonceField(for: .resources))
  }
}

extension AccessToken {
  /// Checks what the query demands. `age` is the time since the person signed in, in seconds.
  fileprivate func check(_ query: [(name: String, value: String)], age: Int64) throws(OAuthError) {
    for (name, value) in query {
      switch name {
      case "scope":
        guard value.split(separator: " ").allSatisfy({ scopes.contains(String($0)) }) else {
          throw .challenge("insufficient_scope", status: 403, more: [("scope", value)])
        }
      case "audience":
        guard audience.contains(value) else { throw .challenge("invalid_token", description: "another audience") }
      case "max_age":
        guard let limit = Int64(value), age <= limit else {
          throw .challenge("insufficient_user_authentication", more: [("max_age", value)])
        }
      case "claims": throw .challenge("insufficient_claims", more: [("claims", value)])
      default: break
      }
    }
  }
}

extension OAuthError {
  /// A request without a token gets a challenge without an error (RFC 6750 section 3.1).
  fileprivate static func challenge(
    _ code: String?,
    status: Int = 401,
    description: String? = nil,
    more: [(name: String, value: String)] = []
  ) -> OAuthError {
    var words = ["realm=\"practice\""]
    if let code { words.append("error=\"\(code)\"") }
    if let description { words.append("error_description=\"\(description)\"") }
    words += more.map { "\($0.name)=\"\($0.value.filter { $0 != "\"" && $0 != "\\" })\"" }
    return OAuthError(
      code: code ?? "unauthorized",
      status: status,
      description: description,
      headers: [("WWW-Authenticate", "Bearer " + words.joined(separator: ", "))]
    )
  }
}
