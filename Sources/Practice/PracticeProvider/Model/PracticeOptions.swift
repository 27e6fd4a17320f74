/// The effect of a use of a refresh token on that token (RFC 9700 section 4.14.2).
public enum RefreshTokenRotation: Sendable, Equatable {
  /// The token stays valid; responses carry no new one.
  case none
  /// A new token each time; the old ones stay valid.
  case renewed
  /// A new token each time; for this long the replaced one still works, with the same successor.
  case grace(seconds: Int)
  /// A new token each time; a second use of a replaced one ends the whole family.
  case strict
}

/// The effect of revoking one token (RFC 7009 section 2.1 leaves it to the provider).
public enum RevocationReach: String, Sendable, Codable {
  /// That token alone.
  case token
  /// All tokens of the same sign-in.
  case family
  /// All tokens that this user has granted to this client, also those of a later sign-in.
  case grant
}

/// Which metadata documents name the endpoints for revocation, introspection and devices.
public enum MetadataLayout: String, Sendable, Codable {
  case everywhere
  /// Only the RFC 8414 document, as at a real server; the OpenID document lacks them.
  case onlyInRFC8414
}

/// Whether clients push authorization requests (RFC 9126).
public enum PushedAuthorization: String, Sendable, Codable {
  case off
  /// Pushing is possible; a browser may also carry the whole request.
  case offered
  /// Only pushed requests are accepted (RFC 9126 section 5).
  case required
}

/// Whether clients may register themselves (RFC 7591).
public enum ClientRegistrationPolicy: String, Sendable, Codable {
  case off
  case open
  /// The endpoint exists, but needs an initial access token, which no client has.
  case closed
}

public enum AccessTokenFormat: String, Sendable, Codable {
  case jwt
  case opaque
}

/// The options of a practice provider. The defaults are those of a strict, ordinary provider.
public struct PracticeOptions: Sendable {
  public var users: [PracticeUser] = .builtIn
  public var clients: [PracticeClient] = .builtIn
  public var scopes: [String] = PracticeOptions.ordinaryScopes
  public var rotation: RefreshTokenRotation = .strict
  public var revocationReach: RevocationReach = .family
  public var metadata: MetadataLayout = .everywhere
  /// The authentication methods that the metadata names; each client has its own methods all the same.
  public var toldAuthenticationMethods = ClientAuthenticationMethod.allCases
  public var pushedAuthorization: PushedAuthorization = .off
  /// RFC 9126 section 2.2 speaks of 5 to 600 seconds.
  public var pushedRequestLifetimeSeconds = 60
  /// As at Microsoft's `…/common/v2.0`: the documents contain `{tenantid}`, and tokens the tenant in its place. The
  /// issuer's path begins with the part that is replaced.
  public var hasIssuerOfEachTenant = false
  public var registration: ClientRegistrationPolicy = .off
  /// False: a plain OAuth server, as most servers for MCP are. Its only document is that of RFC 8414, which names no
  /// userinfo, keys or introspection, and there are no ID tokens.
  public var isOpenID = true
  /// The metadata lists the PKCE method S256.
  public var announcesPKCE = true
  /// The metadata says that authorization responses have `iss` (RFC 9207).
  public var announcesIssuer = true
  /// Authorization responses have `iss`.
  public var sendsIssuer = true
  /// The https URL of a Client ID Metadata Document is a client id. The document is not read: it is taken to name a
  /// public client with the usual redirects.
  public var takesClientDocuments = false
  /// Token responses have a refresh token.
  public var issuesRefreshTokens = true
  /// Token responses have `expires_in`, which RFC 6749 section 5.1 only recommends.
  public var tellsExpiry = true
  public var dpop: DPoPPolicy = .off
  public var authorizationDetails: AuthorizationDetailsPolicy = .off
  /// The types of `authorization_details` that it accepts and names in its metadata; empty: all, and it names none.
  public var authorizationDetailsTypes = ["payment_initiation", "account_information"]
  /// The port of a loopback redirect must be the registered one, against RFC 8252 section 7.3.
  public var comparesRedirectPorts = false
  /// Any loopback redirect is taken, registered or not.
  public var takesAnyLoopbackRedirect = false
  public var signingAlgorithm: SigningAlgorithm = .rs256
  public var keySource: KeySource = .practiceOnlyFixedKeys
  public var accessTokenFormat: AccessTokenFormat = .jwt
  public var accessTokenLifetimeSeconds = 300
  /// Counted from each rotation; nil: refresh tokens do not expire.
  public var refreshTokenLifetimeSeconds: Int?
  /// Adds `refresh_token_expires_in` to token responses, which most providers do not.
  public var tellsRefreshTokenLifetime = false
  /// The hint `refresh_in`: when the client should refresh next.
  public var refreshInSeconds: Int?
  /// A refresh token only for requests with `offline_access` (OpenID Core section 11).
  public var refreshTokenNeedsOfflineAccess = false
  public var idTokenOnRefresh = true
  public var idTokenLifetimeSeconds = 300
  /// Userinfo is a signed JWT (OpenID Core section 5.3.2), as for a client that was registered for that.
  public var signsUserInfo = false
  /// Members that are set in every ID token (or, by null, removed) against custom: `aud` as a list, `auth_time` 0.
  public var idTokenOverrides: [String: PracticeJSON] = [:]
  public var deviceCodeLifetimeSeconds = 600
  public var devicePollingIntervalSeconds = 5
  /// Signs this user in without a page, unless `login_hint` names another; for programs without a screen.
  public var autoApprove: String?
  /// `suberror` beside `invalid_grant` for a disabled user; nil: the error is that of any other dead token.
  public var disabledUserSuberror: String? = "account_disabled"
  /// A wrong client secret uses up the refresh token of its request, as seen on a real server.
  public var wrongSecretBurnsRefreshToken = false
  /// Public clients may revoke (as RFC 7009 section 2.1 requires); two real servers answer them 401.
  public var publicClientsMayRevoke = true
  /// Signing out at `/logout` also ends the refresh tokens of that sign-in.
  public var logoutEndsTokens = false
  /// Responses have a `Date`; those of some providers have none.
  public var sendsDate = true
  /// The offset of the provider's clock from the given one.
  public var clockOffsetMilliseconds: Int64 = 0

  /// The server in whose words it answers.
  public internal(set) var guise: Guise?

  public init() {}

  public static let ordinaryScopes = [
    "openid", "profile", "email", "offline_access", "workorders:read", "workorders:write", "mail", "mail.read",
    "mail.send", "files", "files.read", "calendar",
  ]
}
