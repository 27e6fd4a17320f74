/// What happens to a refresh token when it is used (RFC 9700 section 4.14.2).
public enum RefreshTokenRotation: Sendable, Equatable {
  /// The token stays; answers carry no new one.
  case none
  /// A new token each time; for this long the replaced one still answers, with the same successor.
  case grace(seconds: Int)
  /// A new token each time; using a replaced one ends its whole family.
  case strict
}

/// What a revocation of one token reaches (RFC 7009 section 2.1 leaves it to the provider).
public enum RevocationReach: String, Sendable, Codable {
  /// That token alone.
  case token
  /// All tokens of the same sign-in.
  case family
  /// All tokens that this person has given to this client, a later sign-in's too.
  case grant
}

/// Where the endpoints for revocation, introspection and devices are told.
public enum MetadataLayout: String, Sendable, Codable {
  case everywhere
  /// Only in the RFC 8414 document, as a real server does; the OpenID document knows nothing of them.
  case onlyInRFC8414
}

/// Whether authorization requests are pushed before the browser comes (RFC 9126).
public enum PushedAuthorization: String, Sendable, Codable {
  case off
  /// The endpoint is there; the browser may also carry everything itself.
  case offered
  /// Nothing else is taken (RFC 9126 section 5).
  case required
}

/// Whether clients may register themselves (RFC 7591).
public enum ClientRegistrationPolicy: String, Sendable, Codable {
  case off
  case open
  /// The endpoint is there, for those whom an administrator gave a token: nobody.
  case closed
}

public enum AccessTokenFormat: String, Sendable, Codable {
  case jwt
  case opaque
}

/// How a practice provider behaves. The defaults are those of a strict, ordinary provider.
public struct PracticeOptions: Sendable {
  public var users: [PracticeUser] = .builtIn
  public var clients: [PracticeClient] = .builtIn
  public var scopes: [String] = PracticeOptions.ordinaryScopes
  public var rotation: RefreshTokenRotation = .strict
  public var revocationReach: RevocationReach = .family
  public var metadata: MetadataLayout = .everywhere
  /// What the metadata says that clients may authenticate by; each client has its own methods all the same.
  public var toldAuthenticationMethods = ClientAuthenticationMethod.allCases
  public var pushedAuthorization: PushedAuthorization = .off
  /// RFC 9126 section 2.2 speaks of 5 to 600 seconds.
  public var pushedRequestLifetimeSeconds = 60
  /// As at Microsoft's `…/common/v2.0`: the documents name `{tenantid}` in that place, and each tenant's tokens the
  /// tenant itself. The issuer's path begins with the part that is replaced.
  public var hasIssuerOfEachTenant = false
  public var registration: ClientRegistrationPolicy = .off
  public var signingAlgorithm: SigningAlgorithm = .rs256
  public var keySource: KeySource = .practiceOnlyFixedKeys
  public var accessTokenFormat: AccessTokenFormat = .jwt
  public var accessTokenLifetimeSeconds = 300
  /// Counted from each rotation; nil: refresh tokens do not expire.
  public var refreshTokenLifetimeSeconds: Int?
  /// Tells `refresh_token_expires_in`, which most providers do not.
  public var tellsRefreshTokenLifetime = false
  /// The hint `refresh_in`: when the provider wishes to be asked again.
  public var refreshInSeconds: Int?
  /// A refresh token only for those who ask for `offline_access` (OpenID Core section 11).
  public var refreshTokenNeedsOfflineAccess = false
  public var idTokenOnRefresh = true
  public var idTokenLifetimeSeconds = 300
  /// Members of every ID token that are set (or, by null, left out) against custom: `aud` as a list, `auth_time` 0.
  public var idTokenOverrides: [String: PracticeJSON] = [:]
  public var deviceCodeLifetimeSeconds = 600
  public var devicePollingIntervalSeconds = 5
  /// This person is signed in without being asked, unless `login_hint` names another; for programs without a screen.
  public var autoApprove: String?
  /// `suberror` beside `invalid_grant` for a disabled person; nil: nothing tells it from any other dead token.
  public var disabledUserSuberror: String? = "account_disabled"
  /// A wrong client secret uses up the refresh token it came with, as seen on a real server.
  public var wrongSecretBurnsRefreshToken = false
  /// Public clients may revoke (RFC 7009 section 2.1 says so); two real servers answer them 401.
  public var publicClientsMayRevoke = true
  /// Signing out at `/logout` also ends the refresh tokens of that sign-in.
  public var logoutEndsTokens = false
  /// Answers carry the provider's time, which some do not.
  public var sendsDate = true
  /// The provider's clock against the one it was given.
  public var clockOffsetMilliseconds: Int64 = 0

  public init() {}

  public static let ordinaryScopes = [
    "openid", "profile", "email", "offline_access", "workorders:read", "workorders:write", "mail", "mail.read",
    "mail.send", "files", "files.read", "calendar",
  ]
}
