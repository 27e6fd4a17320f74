public import AgentModel

/// A known provider: defaults for its configuration, and the meaning of its errors.
///
/// A provider's configuration stores the preset's name, so that an updated error table applies after an update of the
/// agent.
public struct ProviderPreset: Sendable {
  public let name: String
  /// Nil if each customer has an issuer of their own.
  public var issuer: String?
  /// An example of such an issuer, for a person.
  public var issuerTemplate: String?
  /// Each tenant has an issuer, and some addresses serve all tenants (`IssuerPattern`).
  public var hasIssuerOfEachTenant = false
  public var scopes: [String]
  /// Endpoints that discovery does not name.
  public var endpoints: ServerMetadata.Endpoints
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

  /// The preset with this name; nil if it is unknown.
  public static func named(_ name: String) -> ProviderPreset? { all.first { $0.name == name } }

  /// Fills in a new provider's configuration, before the person's own values are applied.
  public func fill(_ configuration: inout ProviderConfiguration) {
    configuration.scopes = scopes
    configuration.tenant = tenant
    configuration.authorization.tenantClaim = tenantClaim
    describe(&configuration)
  }

  /// Fills in the provider's behaviour, without the members that accounts are identified by.
  public func describe(_ configuration: inout ProviderConfiguration) {
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

  /// The preset's endpoints, if `issuer` is the preset's issuer; otherwise none, so that credentials never go to a
  /// foreign endpoint.
  public func endpoints(at issuer: String) -> ServerMetadata.Endpoints {
    issuer == self.issuer ? endpoints : .init()
  }
}
