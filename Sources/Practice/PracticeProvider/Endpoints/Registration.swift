import LoopbackHTTP

/// A client that registered itself, and the token that manages its registration.
struct RegisteredClient: Sendable {
  /// Limit of clients that register in a loop.
  static let maximum = 256

  let client: PracticeClient
  let token: String
}

/// `/register` (RFC 7591) and `/register/ID` (RFC 7592).
extension ProviderState {
  mutating func registerClient(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    guard options.registration != .off else { return .notFound }
    guard request.method == "POST" else {
      throw OAuthError(code: "invalid_request", status: 405, headers: [("Allow", "POST")])
    }
    guard options.registration == .open, registeredClients.count < RegisteredClient.maximum else {
      throw OAuthError(code: "invalid_token", status: 401, headers: [("WWW-Authenticate", "Bearer")])
    }
    guard let wanted = try? PracticeJSON(parsing: request.body) else {
      throw OAuthError(code: "invalid_client_metadata", description: "the body is not JSON")
    }
    let redirects = wanted["redirect_uris"]?.arrayValue?.compactMap(\.stringValue) ?? []
    // OpenID Connect Registration section 2: a native client redirects to loopback by http.
    guard !redirects.isEmpty, wanted["application_type"] != "native" || redirects.allSatisfy(RedirectURI.isLoopback)
    else { throw OAuthError(code: "invalid_redirect_uri") }
    let method = wanted["token_endpoint_auth_method"]?.stringValue ?? ClientAuthenticationMethod.basic.rawValue
    guard let method = ClientAuthenticationMethod(rawValue: method), method != .privateKeyJWT,
      options.toldAuthenticationMethods.contains(method)
    else {
      throw OAuthError(code: "invalid_client_metadata", description: "token_endpoint_auth_method is not offered")
    }
    let id = newValue("client_")
    let secret = method == .none ? nil : newValue("secret_")
    let token = newValue("rat_")
    registeredClients[id] = RegisteredClient(
      client: PracticeClient(
        id: id,
        secret: secret,
        authenticationMethods: [method],
        redirectURIs: redirects,
        scopes: wanted["scope"]?.stringValue?.split(separator: " ").map(String.init)
      ),
      token: token
    )
    var changes: [String: PracticeJSON] = [
      "client_id": .string(id), "client_id_issued_at": .integer(nowSeconds),
      "token_endpoint_auth_method": .string(method.rawValue),
      "registration_client_uri": .string(issuer.endpoint("/register/\(id)")),
      "registration_access_token": .string(token),
    ]
    if let secret {
      changes["client_secret"] = .string(secret)
      changes["client_secret_expires_at"] = 0
    }
    return .json(wanted.changed(by: changes), status: 201)
  }

  /// Deletes the registration; the client's grants end with it (RFC 7592 section 2.3).
  mutating func registration(_ request: HTTPRequest, of id: String) throws(OAuthError) -> HTTPResponse {
    guard request.method == "DELETE" else {
      throw OAuthError(code: "invalid_request", status: 405, headers: [("Allow", "DELETE")])
    }
    guard let registered = registeredClients[id], request.header("Authorization") == "Bearer \(registered.token)" else {
      throw OAuthError(code: "invalid_token", status: 401, headers: [("WWW-Authenticate", "Bearer")])
    }
    registeredClients[id] = nil
    for grant in grants.values where grant.clientID == id { end(grant.id, because: .revoked) }
    return HTTPResponse(status: 204)
  }
}
