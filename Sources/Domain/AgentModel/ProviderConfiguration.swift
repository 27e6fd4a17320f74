/// A provider as the person configured it. What the provider says of itself is `ServerMetadata`.
public struct ProviderConfiguration: Hashable, Sendable {
  public var name: ProviderName
  /// An https URL, or http on a loopback host (API.md, "The programs").
  public var issuer: String
  public var clientID: String
  /// How the client says who it is; nil: as the provider says it may.
  public var tokenEndpointAuthMethod: ClientAuthMethod?
  public var scopes: [String]
  public var resources: [String]
  public var endpoints: ServerMetadata.Endpoints
  public var redirect: Redirect
  public var refresh: RefreshRule
  public var errorCodes: [String: FailureClass]
  public var tenant: TenantRule?
  public var authorization: AuthorizationClaims
  public var revocationScope: RevocationScope
  /// Where the browser comes back to after the provider has ended its session; registered there.
  public var postLogoutRedirectURI: String?
  public var persistAccessTokens: Bool
  public var allowedOrigins: [String]
  public var pins: [String: [String]]
  public var policy: String?
  /// The name of the preset that filled in what was not said.
  public var preset: String?

  public init(name: ProviderName, issuer: String, clientID: String) {
    self.name = name
    self.issuer = issuer
    self.clientID = clientID
    scopes = ["openid", "profile", "email", "offline_access"]
    resources = []
    endpoints = .init()
    redirect = .init()
    refresh = .init()
    errorCodes = [:]
    authorization = .init()
    revocationScope = .family
    persistAccessTokens = false
    allowedOrigins = []
    pins = [:]
  }

  /// The loopback address that the browser comes back to (RFC 8252 §7.3).
  public struct Redirect: Hashable, Sendable {
    public var host = "127.0.0.1"
    /// Nil takes a free port at each sign-in.
    public var port: UInt16?
    public var path = "/callback"
    public init() {}
  }

  /// What the provider does with a refresh token that is used twice, and what we do when an answer is lost.
  public struct RefreshRule: Hashable, Sendable {
    public enum Reuse: String, Hashable, Sendable { case none, grace, strict }
    public enum OnUnknownOutcome: String, Hashable, Sendable { case reauthenticate, replayOnce }
    public var reuse = Reuse.strict
    public var graceSeconds: Int64 = 0
    public var onUnknownOutcome = OnUnknownOutcome.reauthenticate
    public init() {}
  }

  public enum TenantRule: Hashable, Sendable { case claim(String), value(String) }

  public struct AuthorizationClaims: Hashable, Sendable {
    public var rolesClaim: String?
    public var tenantClaim: String?
    public var entitlementsURL: String?
    public init() {}
  }

  public enum RevocationScope: String, Hashable, Sendable { case token, family, grant }
}

/// How a client says who it is (OpenID Connect Core §9).
public enum ClientAuthMethod: String, Hashable, Sendable, CaseIterable {
  /// A public client only names itself.
  case publicClient = "none"
  case clientSecretBasic = "client_secret_basic"
  case clientSecretPost = "client_secret_post"
  case privateKeyJWT = "private_key_jwt"
}

/// What a failure asks for. The words of `errorCodes` in `provider.add`.
public enum FailureClass: String, Hashable, Sendable, CaseIterable {
  case transient, reauthenticate, locked, interaction, misconfigured
}

/// What a provider says of itself (OpenID Connect Discovery 1.0 §3, RFC 8414 §2), joined with what was configured.
public struct ServerMetadata: Hashable, Sendable {
  public struct Endpoints: Hashable, Sendable {
    public var authorization: String?
    public var token: String?
    public var jwks: String?
    public var userinfo: String?
    public var revocation: String?
    public var introspection: String?
    public var deviceAuthorization: String?
    public var endSession: String?
    public var registration: String?
    public var pushedAuthorizationRequest: String?
    public init() {}

    /// What is configured wins over what is discovered.
    public func merged(over other: Endpoints) -> Endpoints {
      var merged = self
      merged.authorization = authorization ?? other.authorization
      merged.token = token ?? other.token
      merged.jwks = jwks ?? other.jwks
      merged.userinfo = userinfo ?? other.userinfo
      merged.revocation = revocation ?? other.revocation
      merged.introspection = introspection ?? other.introspection
      merged.deviceAuthorization = deviceAuthorization ?? other.deviceAuthorization
      merged.endSession = endSession ?? other.endSession
      merged.registration = registration ?? other.registration
      merged.pushedAuthorizationRequest = pushedAuthorizationRequest ?? other.pushedAuthorizationRequest
      return merged
    }
  }

  public var issuer: String
  public var endpoints: Endpoints
  /// RFC 9207 §3: the authorization answer carries `iss`, so an answer without it is refused.
  public var authorizationResponseIssuer: Bool
  /// RFC 9126 §5: no authorization request but a pushed one is taken.
  public var requiresPushedAuthorization: Bool
  public var tokenEndpointAuthMethods: [String]
  public var codeChallengeMethods: [String]

  public init(issuer: String) {
    self.issuer = issuer
    endpoints = .init()
    authorizationResponseIssuer = false
    requiresPushedAuthorization = false
    tokenEndpointAuthMethods = []
    codeChallengeMethods = []
  }
}
