import LoopbackHTTP

/// The clients: which there are, how they register themselves (RFC 7591, RFC 7592), and whether a request is theirs.
struct ClientRegistry {
  /// A client that registered itself, and the token that manages its registration.
  private struct Registration {
    let client: PracticeClient
    let token: String
  }

  /// Limit of clients that register in a loop.
  private static let maximumRegistered = 256

  /// Clients that registered themselves, by id; the clients of the options come first.
  private var registered: [String: Registration] = [:]
  /// The ids of client assertions that were used, with their expiry: each is accepted once.
  private var seenAssertions: [String: Int64] = [:]
  /// For the log: the `client_id` of the current request, once it is known.
  var seenID: String?

  func client(_ id: String, in context: ProviderContext) -> PracticeClient? {
    if let client = context.options.clients.first(where: { $0.id == id }) ?? registered[id]?.client { return client }
    return context.options.takesClientDocuments && id.hasPrefix("https://") ? PracticeClient(id: id) : nil
  }

  // MARK: Authentication

  /// The client that the credentials name.
  mutating func named(
    by credentials: ClientCredentials, in context: ProviderContext
  ) throws(OAuthError) -> PracticeClient {
    seenID = credentials.id
    guard let client = client(credentials.id, in: context) else { throw credentials.refusal }
    return client
  }

  /// Whether the credentials prove that the request at `path` is this client's. An assertion is used up.
  mutating func accept(
    _ credentials: ClientCredentials, of client: PracticeClient, at path: String, in context: ProviderContext
  ) -> Bool {
    let isProved =
      switch credentials.method {
      case .privateKeyJWT: isProved(credentials.secret ?? "", by: client, at: path, in: context)
      case .none, .basic, .post: client.secret == credentials.secret
      }
    return client.authenticationMethods.contains(credentials.method) && isProved
  }

  /// RFC 7523 section 3: issued by this client, for this provider, valid now, and used for the first time.
  private mutating func isProved(
    _ text: String, by client: PracticeClient, at path: String, in context: ProviderContext
  ) -> Bool {
    guard let assertion = ClientAssertion(text), let key = client.publicKey, assertion.isSigned(byPEM: key) else {
      return false
    }
    let claims = assertion.claims
    let audiences =
      claims["aud"]?.stringValue.map { [$0] } ?? claims["aud"]?.arrayValue?.compactMap(\.stringValue) ?? []
    // RFC 9126 section 2: an endpoint accepts the issuer, the token endpoint and itself as audience.
    let issuer = context.issuer
    let names = [issuer.identifier, issuer.endpoint("/token"), issuer.origin + path]
    let now = context.nowSeconds
    guard claims["iss"]?.stringValue == client.id, claims["sub"]?.stringValue == client.id,
      audiences.contains(where: names.contains), let expiry = claims["exp"]?.integerValue, expiry > now,
      expiry <= now + ClientAssertion.longestLifetimeSeconds + ClientAssertion.clockSkewSeconds,
      claims["iat"]?.integerValue.map({ $0 <= now + ClientAssertion.clockSkewSeconds }) ?? true,
      let id = claims["jti"]?.stringValue
    else { return false }
    seenAssertions = seenAssertions.filter { $0.value > now }
    return seenAssertions.updateValue(expiry, forKey: id) == nil
  }

  // MARK: Registration

  /// `/register` (RFC 7591).
  mutating func register(_ request: HTTPRequest, in context: ProviderContext) throws(OAuthError) -> HTTPResponse {
    guard context.options.registration != .off else { return .notFound }
    guard request.method == "POST" else {
      throw OAuthError(code: "invalid_request", status: 405, headers: [("Allow", "POST")])
    }
    guard context.options.registration == .open, registered.count < Self.maximumRegistered else {
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
      context.options.toldAuthenticationMethods.contains(method)
    else {
      throw OAuthError(code: "invalid_client_metadata", description: "token_endpoint_auth_method is not offered")
    }
    let id = context.newValue("client_")
    let secret = method == .none ? nil : context.newValue("secret_")
    let token = context.newValue("rat_")
    registered[id] = Registration(
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
      "client_id": .string(id), "client_id_issued_at": .integer(context.nowSeconds),
      "token_endpoint_auth_method": .string(method.rawValue),
      "registration_client_uri": .string(context.issuer.endpoint("/register/\(id)")),
      "registration_access_token": .string(token),
    ]
    if let secret {
      changes["client_secret"] = .string(secret)
      changes["client_secret_expires_at"] = 0
    }
    return .json(wanted.changed(by: changes), status: 201)
  }

  /// `/register/ID` (RFC 7592 section 2.3).
  mutating func deregister(_ id: String, _ request: HTTPRequest) throws(OAuthError) {
    guard request.method == "DELETE" else {
      throw OAuthError(code: "invalid_request", status: 405, headers: [("Allow", "DELETE")])
    }
    guard let registration = registered[id], request.header("Authorization") == "Bearer \(registration.token)" else {
      throw OAuthError(code: "invalid_token", status: 401, headers: [("WWW-Authenticate", "Bearer")])
    }
    registered[id] = nil
  }
}
