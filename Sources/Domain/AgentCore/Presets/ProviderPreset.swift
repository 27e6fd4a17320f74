public import AgentModel

/// A known provider: defaults for its configuration, and the meaning of its errors.
///
/// A provider's configuration stores the preset's name, so that an updated error table applies after an update of the
/// agent. The presets themselves are data: `Schemas/presets`, rendered as `Generated`. What a service is beyond its
/// sign-in is in its `catalogue`.
///
/// Some providers let an administrator choose refresh token rotation (Okta, Auth0, Keycloak). Their presets assume
/// rotation with the provider's default grace: a wrong guess this way costs one sign-in, the other way a token family.
/// `refresh` in the configuration overrides it.
public struct ProviderPreset: Sendable {
  public let name: String
  /// The provider's own name.
  public var title = ""
  /// What the provider's accounts are. Where they are secrets, nothing here is of use but the catalogue.
  public var kind = AccountKind.openid
  /// Nil if each customer has an issuer of their own.
  public var issuer: String?
  /// What such an issuer looks like, with words in capitals for what is the customer's (`IssuerTemplate`).
  public var issuerTemplate: String?
  /// The hosts by which the provider is known; `*.` at the beginning stands for one label or more.
  public var hosts: [String] = []
  /// False if no discovery document is read: `endpoints` are all of them.
  public var hasDiscovery = true
  /// Each tenant has an issuer, and some addresses serve all tenants (`IssuerPattern`).
  public var hasIssuerOfEachTenant = false
  public var scopes: [String]
  /// Endpoints that discovery does not name; with the words of `issuerTemplate`.
  public var endpoints: ServerMetadata.Endpoints
  /// The member of userinfo that names the person; nil: `sub`, else `id`.
  public var subjectMember: String?
  /// True if commas stand between the scopes of the provider's answers.
  public var commaSeparatedScopes = false
  /// Client authentication methods, if there is no discovery (OpenID Connect Core §9).
  public var tokenEndpointAuthMethods: [String]
  /// `aud` of a client assertion (RFC 7523 §3), if it is not the issuer.
  public var assertionAudience: AssertionAudience?
  public var refresh: ProviderConfiguration.RefreshRule
  public var narrowing = ProviderConfiguration.Narrowing.unknown
  public var revocationScope: ProviderConfiguration.RevocationScope
  /// True if access tokens do not expire and there are no refresh tokens: unless stored, they would be lost with the
  /// process.
  public var persistAccessTokens = false
  public var tenant: ProviderConfiguration.TenantRule?
  /// The claim that names the tenant, for people who have one.
  public var tenantClaim: String?
  /// The host of the redirect URI that the provider takes from a desktop client.
  public var redirectHost = "127.0.0.1"
  /// True if the provider compares the port of the redirect URI, so that one has to be registered and configured.
  public var comparesRedirectPort = false
  /// True if the provider takes every path of a loopback redirect URI, so that none has to be registered.
  public var takesAnyRedirectPath = false
  /// Further parameters of the authorization request.
  public var authorizationParameters: [String: String] = [:]
  /// Those of `authorizationParameters` that a device authorization request does not have.
  public var browserParameters: [String] = []
  /// Parameters that a customer may need, and what each says.
  public var parameterHints: [String: String] = [:]
  /// `prompt` of a sign-in that names none (OpenID Connect Core §3.1.2.1); nil: none is sent.
  public var prompt: String?
  /// False if the provider refuses a request that names a `resource` (RFC 8707).
  public var takesResource = true
  /// True if the provider registers clients by itself (RFC 7591), so that no client id is needed.
  public var registersClients = false
  /// True if a desktop client has a secret that the token request needs.
  public var needsClientSecret = false
  /// True if the sign-in by device is the easier one.
  public var suggestsDevice = false
  /// Nil if the standard table is sufficient.
  public var failures: FailureTable?

  /// The audience of a client assertion.
  public enum AssertionAudience: Sendable {
    case tokenEndpoint
    /// The URL of the endpoint that the request goes to.
    case endpoint
  }

  init(_ name: String) {
    self.name = name
    scopes = ["openid", "profile", "email", "offline_access"]
    endpoints = .init()
    tokenEndpointAuthMethods = []
    refresh = .init()
    revocationScope = .family
  }

  /// A service whose accounts are secrets.
  static func ofSecrets(_ name: String, _ title: String) -> ProviderPreset {
    make(name) {
      $0.title = title
      $0.kind = .secret
    }
  }

  /// The preset with this name; nil if it is unknown.
  public static func named(_ name: String) -> ProviderPreset? { all.first { $0.name == name } }

  /// Fills in a new provider's configuration, before the person's own values are applied.
  public func fill(_ configuration: inout ProviderConfiguration) {
    configuration.scopes = scopes
    configuration.tenant = tenant
    configuration.authorization.tenantClaim = tenantClaim
    if takesAnyRedirectPath {
      configuration.redirect.path = ProviderConfiguration.Redirect.ownPath(of: configuration.name)
    }
    describe(&configuration)
  }

  /// Fills in the provider's behaviour, without the members that accounts are identified by.
  public func describe(_ configuration: inout ProviderConfiguration) {
    // Parameters and a host that nothing was said of follow the preset.
    let former = configuration.preset.flatMap(ProviderPreset.named)
    if configuration.authorizationParameters == former?.authorizationParameters ?? [:] {
      configuration.authorizationParameters = authorizationParameters
    }
    if configuration.redirect.port == nil, configuration.redirect.host == former?.redirectHost ?? "127.0.0.1" {
      configuration.redirect.host = redirectHost
    }
    configuration.preset = name
    configuration.refresh = refresh
    configuration.isRefreshConfigured = false
    configuration.narrowing = narrowing
    configuration.revocationScope = revocationScope
    configuration.persistAccessTokens = persistAccessTokens
  }

  /// The issuers behind a shared address; nil if the address is an issuer itself.
  public func issuerPattern(at address: String) -> IssuerPattern? {
    hasIssuerOfEachTenant ? IssuerPattern(sharedAddress: address) : nil
  }

  /// The preset's endpoints, if `issuer` is the preset's issuer or a customer's of it; otherwise none, so that
  /// credentials never go to a foreign endpoint.
  public func endpoints(at issuer: String) -> ServerMetadata.Endpoints {
    if let own = self.issuer { return equalCodePoints(issuer, own) ? endpoints : .init() }
    guard let words = issuerTemplate.flatMap({ IssuerTemplate($0).words(of: issuer) }) else { return .init() }
    return endpoints.mapped { IssuerTemplate($0).filled(with: words) }
  }

  /// Whether the provider is known by this host, in small letters.
  public func isKnown(by host: String) -> Bool {
    hosts.contains { known in
      known.hasPrefix("*.") ? host.hasSuffix(known.dropFirst()) && host.utf8.count >= known.utf8.count : host == known
    }
  }

  static func make(_ name: String, _ say: (inout ProviderPreset) -> Void) -> ProviderPreset {
    var preset = ProviderPreset(name)
    say(&preset)
    return preset
  }
}
