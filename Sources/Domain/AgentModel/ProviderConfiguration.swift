/// A provider as the person configured it. `ServerMetadata` holds what the provider publishes about itself.
public struct ProviderConfiguration: Hashable, Sendable {
  /// The name that requests and commands use.
  public var name: ProviderName
  /// What its accounts hold.
  public var kind = AccountKind.openid
  /// The issuer URL: `https`, or `http` on a loopback host (docs/protocol.md, Programs). Of a provider of secrets, the
  /// first of its origins when it was added.
  public var issuer: String
  /// `client_id` (RFC 6749 §2.2).
  public var clientID: String
  /// The client authentication method; nil: chosen from the methods that the provider's metadata lists.
  public var tokenEndpointAuthMethod: ClientAuthMethod?
  /// The scopes that a sign-in requests.
  public var scopes: [String]
  /// The resource indicators that a sign-in requests (RFC 8707).
  public var resources: [String]
  /// Further parameters of the authorization request, by name (`AuthorizationParameters`).
  public var authorizationParameters: [String: String] = [:]
  /// Configured endpoints, which override discovered ones.
  public var endpoints: ServerMetadata.Endpoints
  public var redirect: Redirect
  /// The provider's rules for refresh tokens.
  public var refresh: RefreshRule
  /// True if the person chose `refresh`; otherwise it is the preset's or the default, and an observation overrides it.
  public var isRefreshConfigured = false
  /// What a refresh with fewer scopes does to the grant.
  public var narrowing = Narrowing.unknown
  /// Whether sign-ins bind their tokens to a key of the account (RFC 9449).
  public var dpop = DPoPUse.auto
  /// The provider's metadata must list `S256` (RFC 7636), or there is no sign-in (docs/providers.md, Plain OAuth
  /// servers).
  public var requiresPKCE = false
  /// What an account stands for.
  public var identity = IdentitySource.person
  /// Of a provider of the kind `secret`; nil for every other.
  @Rare public var secret: SecretSettings? = nil
  /// Of a provider of the kind `client`; nil for every other.
  @Rare public var machine: MachineGrant? = nil
  /// The meaning of this provider's error codes, which overrides the built-in tables.
  public var errorCodes: [String: FailureClass]
  /// The rule that determines the tenant of an account; nil: accounts have no tenant.
  public var tenant: TenantRule?
  /// Where the provider names roles, tenant and entitlements.
  public var authorization: AuthorizationClaims
  /// The effect of one revocation request at this provider.
  public var revocationScope: RevocationScope
  /// `post_logout_redirect_uri` (OpenID Connect RP-Initiated Logout §2), as registered at the provider.
  public var postLogoutRedirectURI: String?
  /// True to store access tokens; otherwise they stay in memory.
  public var persistAccessTokens: Bool
  /// Origins that `request.send` may send this provider's tokens to.
  public var allowedOrigins: [String]
  /// Names that requests to `allowedOrigins` may have beside plain ones (docs/requests.md, Names in a request).
  public var allowedFields: [String] = []
  /// Public key pins (`sha256/BASE64`) by host name in small letters.
  public var pins: [String: [String]]
  /// From then on `pins` say nothing any more; nil: they hold for ever.
  public var pinsExpireAt: Timestamp?
  /// A PEM file with the certificate authorities that count for this provider; nil: the agent's.
  public var caFile: String?
  /// The proxy to this provider (`ProxyAddress`); nil: the agent's.
  public var proxy: String?
  /// The name of the authorization policy for this provider's accounts; nil: none.
  public var policy: String?
  /// The name of the `ProviderPreset` that filled in members which the person left out.
  public var preset: String?

  /// A configuration with the defaults of the contract.
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

  /// What the agent does after a lost response: what was configured, else `replayLast`. Where a revocation ends the
  /// whole grant, a reuse may end other devices' sessions too, so the default there is a new sign-in.
  public var onUnknownOutcome: RefreshRule.OnUnknownOutcome {
    refresh.onUnknownOutcome ?? (revocationScope == .grant ? .reauthenticate : .replayLast)
  }

  /// Its documents are the ones of MCP, and its issuer is compared byte for byte in each document and answer
  /// (docs/providers.md, Plain OAuth servers).
  public var isExact: Bool { requiresPKCE || identity == .resource }

  /// The loopback redirect URI (RFC 8252 §7.3).
  public struct Redirect: Hashable, Sendable {
    public var host = "127.0.0.1"
    /// The port; nil takes a free port for each sign-in.
    public var port: UInt16?
    public var path = Self.usualPath
    public init() {}

    /// The path that a person registers with a client, unless they choose another.
    public static let usualPath = "/callback"

    /// A path to which no other provider of this agent sends the browser (RFC 9700 §4.4.2), for a client whose redirect
    /// URI no person has to register. It is not below `usualPath`, since some servers take every path below the one that
    /// was registered.
    public static func ownPath(of provider: ProviderName) -> String { "\(usualPath)-\(provider.text)" }
  }

  /// The client is no longer one that no person had to register.
  public mutating func forgetOwnRedirectPath() {
    if redirect.path == Redirect.ownPath(of: name) { redirect.path = Redirect.usualPath }
  }

  /// The provider's reaction to a reused refresh token, and the agent's to a lost token response.
  public struct RefreshRule: Hashable, Sendable {
    /// `none`: refresh tokens are not rotated. `grace`: a rotated token stays valid for `graceSeconds`. `strict`: reuse
    /// ends the grant (RFC 9700 §4.14.2).
    public enum Reuse: String, Hashable, Sendable { case none, grace, strict }
    /// What to do after a lost response: ask for a new sign-in once the access token has expired; send the same refresh
    /// token once more at once; or send it once more after the access token has expired, when the person would have to
    /// sign in anyway.
    public enum OnUnknownOutcome: String, Hashable, Sendable { case reauthenticate, replayOnce, replayLast }
    /// The provider's reuse policy.
    public var reuse = Reuse.strict
    /// The time in seconds for which a rotated refresh token stays valid; used with `Reuse.grace`.
    public var graceSeconds: Int64 = 0
    /// What the agent does after a lost response; nil: `ProviderConfiguration.onUnknownOutcome` chooses.
    public var onUnknownOutcome: OnUnknownOutcome?
    /// As `ProviderConfiguration.narrowing`, for the machine that gets this rule.
    public var narrowing = Narrowing.unknown
    /// A bearer token is not served (`DPoPUse.required`), for the machine that gets this rule.
    public var refusesBearerTokens = false
    /// The resource that the standard token is for (`ProviderConfiguration.standardResource`), for the machine that gets
    /// this rule.
    public var standardResource: String?
    /// Of a provider of secrets, for the machine that gets this rule; nil for every other.
    @Rare public var secrets: SecretRule? = nil
    /// What stands between the scopes of an answer, for the machine that gets this rule.
    public var scopeSeparators = ScopeSet.Separators.spaces
    public init() {}
  }

  /// What the machine of an account that holds a secret needs of its provider.
  public struct SecretRule: Hashable, Sendable {
    /// The provider can be asked about a secret, by `whoami`.
    public var isAsked: Bool
    public var placement: SecretPlacement
    /// The user name beside the secret of an account that has none of its own.
    public var username: String?

    public init(isAsked: Bool, placement: SecretPlacement, username: String? = nil) {
      (self.isAsked, self.placement, self.username) = (isAsked, placement, username)
    }
  }

  /// Whether tokens are bound to a key: never, where the provider's metadata offers it, or always.
  public enum DPoPUse: String, Hashable, Sendable, CaseIterable { case off, auto, required }

  /// What an account stands for: the person whom the provider names, or, at a server that names none, the person at the
  /// provider's resource (`Identity.isUnproven`).
  public enum IdentitySource: String, Hashable, Sendable, CaseIterable { case person, resource }

  /// What a refresh with fewer scopes does to the grant: RFC 6749 §6 says that the grant keeps its scopes, but at most
  /// servers the new refresh token has the fewer scopes.
  public enum Narrowing: String, Hashable, Sendable { case keeps, sticks, unknown }

  /// The tenant of an account: the value of an ID token claim, or a fixed value.
  public enum TenantRule: Hashable, Sendable { case claim(String), value(String) }

  /// The sources of a person's rights at the provider.
  public struct AuthorizationClaims: Hashable, Sendable {
    /// The claim that lists roles; a path may use dots. Nil: tokens are not searched for roles.
    public var rolesClaim: String?
    /// The claim that names the tenant.
    public var tenantClaim: String?
    /// An endpoint that lists the person's entitlements; nil: read them from tokens.
    public var entitlementsURL: String?
    public init() {}
  }

  /// The effect of one revocation request: it ends the token, its family, or the whole grant (RFC 7009 §2.1).
  public enum RevocationScope: String, Hashable, Sendable { case token, family, grant }
}

/// A client authentication method (OpenID Connect Core §9).
public enum ClientAuthMethod: String, Hashable, Sendable, CaseIterable {
  /// A public client: sends its `client_id` and no credential.
  case publicClient = "none"
  case clientSecretBasic = "client_secret_basic"
  case clientSecretPost = "client_secret_post"
  case privateKeyJWT = "private_key_jwt"
}

/// The meaning of a provider's error for the account. The raw values are those of `errorCodes` in `provider.add`.
public enum FailureClass: String, Hashable, Sendable, CaseIterable {
  case transient, reauthenticate, locked, interaction, misconfigured
}

/// A provider's metadata (OpenID Connect Discovery 1.0 §3, RFC 8414 §2), merged with the configuration.
public struct ServerMetadata: Hashable, Sendable {
  /// Endpoint URLs; nil where the provider has none or discovery named none.
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

    /// These endpoints, each changed by `change`.
    public func mapped(_ change: (String) -> String?) -> Endpoints {
      var mapped = Endpoints()
      mapped.authorization = authorization.flatMap(change)
      mapped.token = token.flatMap(change)
      mapped.jwks = jwks.flatMap(change)
      mapped.userinfo = userinfo.flatMap(change)
      mapped.revocation = revocation.flatMap(change)
      mapped.introspection = introspection.flatMap(change)
      mapped.deviceAuthorization = deviceAuthorization.flatMap(change)
      mapped.endSession = endSession.flatMap(change)
      mapped.registration = registration.flatMap(change)
      mapped.pushedAuthorizationRequest = pushedAuthorizationRequest.flatMap(change)
      return mapped
    }

    /// These endpoints, with missing ones taken from `other`: configured endpoints override discovered ones.
    public func completed(from other: Endpoints) -> Endpoints {
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

  /// `issuer`.
  public var issuer: String
  /// The endpoints of the provider.
  public var endpoints: Endpoints
  /// `authorization_response_iss_parameter_supported` (RFC 9207 §3): an authorization response without `iss` is
  /// refused.
  public var authorizationResponseIssuer: Bool
  /// `require_pushed_authorization_requests` (RFC 9126 §5).
  public var requiresPushedAuthorization: Bool
  /// `token_endpoint_auth_methods_supported`; empty if the metadata does not say.
  public var tokenEndpointAuthMethods: [String]
  /// `revocation_endpoint_auth_methods_supported`; empty if the metadata does not say.
  public var revocationEndpointAuthMethods: [String]
  /// `code_challenge_methods_supported`; empty if the metadata does not say.
  public var codeChallengeMethods: [String]
  /// `id_token_signing_alg_values_supported`; empty if the metadata does not say.
  public var idTokenAlgorithms: [String] = []
  /// `dpop_signing_alg_values_supported` (RFC 9449 §5.1); empty if the metadata does not say.
  public var dpopAlgorithms: [String] = []
  /// `authorization_details_types_supported` (RFC 9396 §10); empty if the metadata does not say.
  public var authorizationDetailsTypes: [String] = []
  /// `scopes_supported`; nil if the metadata does not say. Not stored.
  public var scopesSupported: [String]?
  /// `client_id_metadata_document_supported`: the URL of a Client ID Metadata Document is taken as `client_id`.
  public var clientIDMetadataDocuments = false
  /// The endpoints that the metadata lists and the agent does not use: no whole https address, or this machine.
  public var ignoredEndpoints: [IgnoredEndpoint] = []

  /// An endpoint that the documents name and the agent does not use.
  public struct IgnoredEndpoint: Hashable, Sendable {
    /// Its name in the contract.
    public var name: String
    /// What stands in the document, such as "`token_endpoint` is `"/token"`", for people.
    public var found: String

    public init(name: String, found: String) { (self.name, self.found) = (name, found) }
  }

  public init(issuer: String) {
    self.issuer = issuer
    endpoints = .init()
    authorizationResponseIssuer = false
    requiresPushedAuthorization = false
    tokenEndpointAuthMethods = []
    revocationEndpointAuthMethods = []
    codeChallengeMethods = []
  }
}
