/// A client that is registered with the practice provider.
public struct PracticeClient: Sendable, Equatable {
  public var id: String
  /// Nil makes it a public client (RFC 6749 section 2.1).
  public var secret: String?
  /// The public half of the key that signs the client's assertions (RFC 7523), as PEM.
  public var publicKey: String?
  /// The methods by which the client may send its secret (OpenID Core section 9); a public client sends none.
  public var authenticationMethods: [ClientAuthenticationMethod]
  /// Compared exactly, except for the port of a loopback URI (RFC 8252 section 7.3).
  public var redirectURIs: [String]
  public var postLogoutRedirectURIs: [String]
  /// Scopes that the client may ask for; nil: everything that the provider supports.
  public var scopes: [String]?
  /// Values that the client may send as `resource` (RFC 8707); nil: any absolute URI.
  public var resources: [String]?

  public init(
    id: String,
    secret: String? = nil,
    publicKey: String? = nil,
    authenticationMethods: [ClientAuthenticationMethod]? = nil,
    redirectURIs: [String] = PracticeClient.loopbackRedirectURIs,
    postLogoutRedirectURIs: [String] = PracticeClient.loopbackRedirectURIs,
    scopes: [String]? = nil,
    resources: [String]? = nil
  ) {
    self.id = id
    self.secret = secret
    self.publicKey = publicKey
    var fitting: [ClientAuthenticationMethod] = secret == nil ? [] : [.basic, .post]
    if publicKey != nil { fitting.append(.privateKeyJWT) }
    self.authenticationMethods = fitting.isEmpty ? [.none] : authenticationMethods ?? fitting
    self.redirectURIs = redirectURIs
    self.postLogoutRedirectURIs = postLogoutRedirectURIs
    self.scopes = scopes
    self.resources = resources
  }

  /// The client can authenticate (RFC 6749 section 2.1).
  var isConfidential: Bool { secret != nil || publicKey != nil }

  /// Whether an authorization request of this client may name the redirect URI.
  func takes(redirectURI: String, _ options: PracticeOptions) -> Bool {
    if options.takesAnyLoopbackRedirect, RedirectURI.isLoopback(redirectURI) { return true }
    return redirectURIs.contains {
      options.comparesRedirectPorts ? redirectURI == $0 : RedirectURI.matches(redirectURI, registered: $0)
    }
  }

  /// The redirect paths that desktop programs commonly use, on each loopback host, on any port.
  public static let loopbackRedirectURIs: [String] = ["127.0.0.1", "[::1]", "localhost"].flatMap { host in
    ["/", "/callback", "/oauth/callback", "/oauth2/callback", "/redirect"].map { "http://\(host)\($0)" }
  }
}

/// A method of client authentication, under its name in RFC 8414 section 2.
public enum ClientAuthenticationMethod: String, Sendable, CaseIterable, Codable {
  case none
  case basic = "client_secret_basic"
  case post = "client_secret_post"
  case privateKeyJWT = "private_key_jwt"
}

extension [PracticeClient] {
  /// `lanyard-demo`, public; `confidential`, whose secret is `practice-secret`; `keyed`, which signs with
  /// `PracticeClient.practiceOnlyKey`.
  public static var builtIn: [PracticeClient] {
    [
      PracticeClient(id: "lanyard-demo"), PracticeClient(id: "confidential", secret: PracticeOptions.practiceSecret),
      PracticeClient(id: "keyed", publicKey: PracticeOnlyKeys.clientPublicKey),
    ]
  }
}

extension PracticeClient {
  /// The key with which the client `keyed` authenticates: P-256, PKCS #8.
  public static let practiceOnlyKey = PracticeOnlyKeys.clientPrivateKey
}
