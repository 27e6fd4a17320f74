internal import AgentCore
package import AgentModel
internal import AgentOAuth
package import AgentProtocol
package import AgentStore
package import Secrets

/// The members that `provider.add` and `provider.update` have in common; nil keeps the current value.
package protocol ProviderChanges {
  var issuer: String? { get }
  var clientId: String? { get }
  var clientSecret: Secret? { get }
  var clientKey: Secret? { get }
  var tokenEndpointAuthMethod: WireClientAuthMethod? { get }
  var placement: WireSecretPlacement? { get }
  var whoami: WireWhoami? { get }
  var revoke: WireSecretRevocation? { get }
  var environment: [String]? { get }
  var scopes: [String]? { get }
  var resources: [String]? { get }
  var authorizationParameters: WireMap<String>? { get }
  var endpoints: WireEndpoints? { get }
  var redirect: WireRedirect? { get }
  var refresh: WireRefreshRules? { get }
  var narrowing: WireNarrowing? { get }
  var dpop: WireDpopUse? { get }
  var requirePkce: Bool? { get }
  var identity: WireIdentitySource? { get }
  var errorCodes: WireMap<WireFailureClass>? { get }
  var tenant: WireTenantRule? { get }
  var authorization: WireAuthorizationRules? { get }
  var revocationScope: WireRevocationScope? { get }
  var postLogoutRedirectUri: String? { get }
  var persistAccessTokens: Bool? { get }
  var allowedOrigins: [String]? { get }
  var allowedFields: [String]? { get }
  var pins: WireMap<[String]>? { get }
  var pinsExpireAt: Timestamp? { get }
  var caFile: String? { get }
  var proxy: String? { get }
  var policy: String? { get }
}

extension ProviderAdd.Params: ProviderChanges {}
extension ProviderUpdate.Params: ProviderChanges {}

extension ProviderConfiguration {
  /// Applies the changes. Throws for the first one that the schema accepts and the agent can't.
  package mutating func apply(_ changes: some ProviderChanges) throws(AgentFailure) {
    guard let url = HTTPURL(issuer), url.scheme == .https || url.isLoopback, url.query == nil else {
      throw .invalidParameter("/issuer", expected: "an https URL without a query; http only on a loopback host")
    }
    if let source = changes.identity { identity = .init(rawValue: source.rawValue) ?? identity }
    try applySignIn(changes)
    try applyTokens(changes)
    try applyConnections(changes)
    if let policy = changes.policy { self.policy = policy }
    try requireResource()
  }

  /// An account of `IdentitySource.resource` is the person at one resource, which each request then names (RFC 8707).
  private func requireResource() throws(AgentFailure) {
    guard identity == .resource else { return }
    guard resources.count == 1, let url = HTTPURL(resources[0]), url.scheme == .https || url.isLoopback else {
      throw .invalidParameter(
        "/resources",
        expected: "with `identity` `resource` just one: an https URL without a fragment; http only on a loopback host")
    }
  }

  private mutating func applySignIn(_ changes: some ProviderChanges) throws(AgentFailure) {
    if let scopes = changes.scopes { self.scopes = scopes }
    if let resources = changes.resources { self.resources = resources }
    if let parameters = changes.authorizationParameters {
      authorizationParameters = try Self.authorizationParameters(parameters)
    }
    if let isRequired = changes.requirePkce { requiresPKCE = isRequired }
    if let endpoints = changes.endpoints { self.endpoints = try .init(endpoints) }
    if let redirect = changes.redirect { self.redirect = try .init(redirect) }
    if let tenant = changes.tenant {
      switch (tenant.claim, tenant.value) {
      case (let claim?, nil): self.tenant = .claim(claim)
      case (nil, let value?): self.tenant = .value(value)
      default: throw .invalidParameter("/tenant", expected: "either claim or value")
      }
    }
    if let rules = changes.authorization {
      if let text = rules.entitlementsUrl {
        // The agent sends the access token to this URL.
        guard let url = HTTPURL(text), url.scheme == .https || url.isLoopback else {
          throw .invalidParameter(
            "/authorization/entitlementsUrl", expected: "an https URL; http only on a loopback host")
        }
      }
      authorization.rolesClaim = rules.rolesClaim
      authorization.tenantClaim = rules.tenantClaim
      authorization.entitlementsURL = rules.entitlementsUrl
    }
    if let uri = changes.postLogoutRedirectUri {
      guard let url = HTTPURL(uri), url.scheme == .https || url.isLoopback, !uri.contains("#") else {
        throw .invalidParameter(
          "/postLogoutRedirectUri", expected: "an https URL without a fragment; http only on a loopback host")
      }
      postLogoutRedirectURI = uri
    }
  }

  private mutating func applyTokens(_ changes: some ProviderChanges) throws(AgentFailure) {
    if let refresh = changes.refresh {
      self.refresh = try .init(refresh)
      isRefreshConfigured = true
    }
    if let narrowing = changes.narrowing { self.narrowing = .init(rawValue: narrowing.rawValue) ?? .unknown }
    if let use = changes.dpop { dpop = .init(rawValue: use.rawValue) ?? dpop }
    if let errorCodes = changes.errorCodes {
      self.errorCodes = Dictionary(
        errorCodes.entries.map { ($0.name, FailureClass(rawValue: $0.value.rawValue) ?? .transient) }
      ) { $1 }
    }
    if let scope = changes.revocationScope { revocationScope = .init(rawValue: scope.rawValue) ?? revocationScope }
    if let persist = changes.persistAccessTokens { persistAccessTokens = persist }
  }

  mutating func applyConnections(_ changes: some ProviderChanges) throws(AgentFailure) {
    if let origins = changes.allowedOrigins {
      if let index = origins.firstIndex(where: { RequestTarget.origin($0) == nil }) {
        throw .invalidParameter(
          "/allowedOrigins/\(index)",
          expected: "an origin: https, a host and perhaps a port, without a path; http only on a loopback host")
      }
      allowedOrigins = origins
    }
    if let fields = changes.allowedFields {
      if let index = fields.firstIndex(where: { !RequestNames.canBeAllowed($0) }) {
        throw .invalidParameter(
          "/allowedFields/\(index)",
          expected: "a name that neither the agent nor the connection decides, as they decide Authorization and Host")
      }
      allowedFields = fields
    }
    if let pins = changes.pins { self.pins = try Self.pins(pins) }
    // The last pins take their end with them: others would begin with it.
    if pins.isEmpty { pinsExpireAt = nil }
    if let instant = changes.pinsExpireAt { pinsExpireAt = instant }
    if let file = changes.caFile {
      guard file.isEmpty || file.hasPrefix("/") else {
        throw .invalidParameter("/caFile", expected: "an absolute path, or nothing for the agent's authorities")
      }
      caFile = file.isEmpty ? nil : file
    }
    if let address = changes.proxy {
      guard address.isEmpty || ProxyAddress.isValid(address) else {
        throw .invalidParameter(
          "/proxy",
          expected: "http, https, socks5 or socks5h, ://, a host and a port; or none; or nothing for the agent's")
      }
      proxy = address.isEmpty ? nil : address
    }
  }
}

extension ProviderConfiguration {
  /// With one pin alone a server that changes its key would lock the person out.
  private static let fewestPins = 2

  fileprivate static func pins(_ wire: WireMap<[String]>) throws(AgentFailure) -> [String: [String]] {
    var pins: [String: [String]] = [:]
    for entry in wire.entries {
      let path = "/pins/" + entry.name
      guard Set(entry.value).count >= fewestPins else {
        throw .invalidParameter(path, expected: "two pins at least: one is the backup, of a key that is not in use yet")
      }
      // In the form in which requests name it: a pin for any other would never be compared.
      guard let host = Self.host(entry.name) else {
        throw .invalidParameter(
          path, expected: "the name or address of a host, without a port: pins count at every port")
      }
      guard pins.updateValue(entry.value, forKey: host) == nil else {
        throw .invalidParameter(path, expected: "each host once")
      }
    }
    return pins
  }

  fileprivate static func authorizationParameters(
    _ wire: WireMap<String>
  ) throws(AgentFailure) -> [String: String] {
    var parameters: [String: String] = [:]
    for entry in wire.entries {
      let path = "/authorizationParameters/" + entry.name
      switch AuthorizationParameters.refusal(of: entry.name, entry.value) {
      case nil: parameters[entry.name] = entry.value
      case .name: throw .invalidParameter(path, expected: "a parameter name: letters, digits, - . _")
      case .ownedByTheProtocol: throw .invalidParameter(path, expected: "a name that the protocol does not own")
      case .value: throw .invalidParameter(path, expected: "1 to 1024 bytes without control characters")
      }
    }
    return parameters
  }

  private static func host(_ text: String) -> String? {
    let isBareIPv6 = text.contains(":") && !text.hasPrefix("[")
    guard let url = HTTPURL("https://" + (isBareIPv6 ? "[\(text)]" : text)), url.origin == "https://" + url.hostText,
      url.path == "/", url.query == nil, !url.host.hasSuffix(".")
    else { return nil }
    return url.host
  }
}

extension ServerMetadata.Endpoints {
  package init(_ wire: WireEndpoints) throws(AgentFailure) {
    self.init()
    authorization = try Self.url("authorization", wire.authorization)
    token = try Self.url("token", wire.token)
    jwks = try Self.url("jwks", wire.jwks)
    userinfo = try Self.url("userinfo", wire.userinfo)
    revocation = try Self.url("revocation", wire.revocation)
    introspection = try Self.url("introspection", wire.introspection)
    deviceAuthorization = try Self.url("deviceAuthorization", wire.deviceAuthorization)
    endSession = try Self.url("endSession", wire.endSession)
    registration = try Self.url("registration", wire.registration)
    pushedAuthorizationRequest = try Self.url("pushedAuthorizationRequest", wire.pushedAuthorizationRequest)
  }

  private static func url(_ name: String, _ text: String?) throws(AgentFailure) -> String? {
    guard let text else { return nil }
    guard let url = HTTPURL(text), url.scheme == .https || url.isLoopback else {
      throw .invalidParameter("/endpoints/" + name, expected: "an https URL; http only on a loopback host")
    }
    return text
  }
}

extension ProviderConfiguration.Redirect {
  package init(_ wire: WireRedirect) throws(AgentFailure) {
    self.init()
    if let host = wire.host {
      guard let url = HTTPURL("http://\(host)/"), url.isLoopback else {
        throw .invalidParameter("/redirect/host", expected: "a loopback host")
      }
      self.host = host
    }
    port = wire.port.flatMap { $0 == 0 ? nil : UInt16(exactly: $0) }
    if let path = wire.path {
      guard path.hasPrefix("/") else {
        throw .invalidParameter("/redirect/path", expected: "a path that begins with /")
      }
      self.path = path
    }
  }
}

extension ProviderConfiguration.RefreshRule {
  package init(_ wire: WireRefreshRules) throws(AgentFailure) {
    self.init()
    reuse = Reuse(rawValue: wire.reuse.rawValue) ?? .strict
    if let seconds = wire.graceSeconds { graceSeconds = Int64(seconds) }
    if reuse == .grace, graceSeconds == 0 {
      throw .invalidParameter("/refresh/graceSeconds", expected: "the seconds of grace, since reuse is grace")
    }
    onUnknownOutcome = wire.onUnknownOutcome.flatMap { .init(rawValue: $0.rawValue) }
  }
}

extension ClientAuthMethod {
  /// Nil for a method that this agent does not know.
  package init?(_ wire: WireClientAuthMethod?) {
    guard let wire else { return nil }
    self.init(rawValue: wire.rawValue)
  }
}
