public import AgentModel

/// A provider known by name: what need not be typed when it is added, and how it speaks when it refuses.
///
/// An account's provider remembers the name of its preset, so that a table that was mended serves it after an update.
public struct ProviderPreset: Sendable {
  public let name: String
  /// Nil where each customer has an issuer of their own.
  public var issuer: String?
  /// What such an issuer looks like, for a person to read.
  public var issuerTemplate: String?
  /// Each tenant has an issuer, and some addresses serve all of them (`IssuerPattern`).
  public var hasIssuerOfEachTenant = false
  public var scopes: [String]
  /// What discovery does not tell.
  public var endpoints: ServerMetadata.Endpoints
  /// How the client says who it is, where no discovery tells (OpenID Connect Core §9).
  public var tokenEndpointAuthMethods: [String]
  /// Whom a client's assertion is for (RFC 7523 §3), where it is not the issuer.
  public var assertionAudience: AssertionAudience?
  public var refresh: ProviderConfiguration.RefreshRule
  public var revocationScope: ProviderConfiguration.RevocationScope
  /// Where access tokens have no end and nothing comes after them: an agent that forgot them would ask for a sign-in at
  /// each start.
  public var persistAccessTokens = false
  public var tenant: ProviderConfiguration.TenantRule?
  /// A claim that names the tenant of those who have one.
  public var tenantClaim: String?
  /// Nil where the standard table says everything.
  public var failures: FailureTable?

  public enum AssertionAudience: Sendable {
    case tokenEndpoint
    /// The one that is asked.
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

  /// The preset of this name, which the person typed or a record remembers.
  public static func named(_ name: String) -> ProviderPreset? { all.first { $0.name == name } }

  /// What the preset knows of a provider that is being added, before what was said of it.
  public func fill(_ configuration: inout ProviderConfiguration) {
    configuration.scopes = scopes
    configuration.tenant = tenant
    configuration.authorization.tenantClaim = tenantClaim
    describe(&configuration)
  }

  /// How the provider behaves; nothing that accounts were found by.
  public func describe(_ configuration: inout ProviderConfiguration) {
    configuration.preset = name
    configuration.refresh = refresh
    configuration.revocationScope = revocationScope
    configuration.persistAccessTokens = persistAccessTokens
  }

  /// The issuers behind this address; nil where it is an issuer itself.
  public func issuerPattern(at address: String) -> IssuerPattern? {
    hasIssuerOfEachTenant ? IssuerPattern(sharedAddress: address) : nil
  }

  /// The endpoints at this issuer; none at another, which would be sent what was meant for this one.
  public func endpoints(at issuer: String) -> ServerMetadata.Endpoints {
    issuer == self.issuer ? endpoints : .init()
  }
}
