internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol

/// The members of `provider.add` and `provider.update` beside issuer and client; nil keeps the current value.
struct ProviderChanges {
  var scopes: [String]?
  var resources: [String]?
  var authorizationParameters: WireMap<String>?
  var endpoints: WireEndpoints?
  var redirect: WireRedirect?
  var refresh: WireRefreshRules?
  var narrowing: WireNarrowing?
  var dpop: WireDpopUse?
  var errorCodes: WireMap<WireFailureClass>?
  var tenant: WireTenantRule?
  var authorization: WireAuthorizationRules?
  var revocationScope: WireRevocationScope?
  var postLogoutRedirectURI: String?
  var persistAccessTokens: Bool?
  var allowedOrigins: [String]?
  var pins: WireMap<[String]>?
  var pinsExpireAt: Timestamp?
  var caFile: String?
  var proxy: String?
  var policy: String?
}

extension ProviderConfiguration {
  /// Applies the changes. Throws for the first one that the schema accepts and the agent can't.
  mutating func apply(_ changes: ProviderChanges) throws(AgentFailure) {
    guard let url = HTTPURL(issuer), url.scheme == .https || url.isLoopback, url.query == nil else {
      throw .invalidParameter("/issuer", expected: "an https URL without a query; http only on a loopback host")
    }
    if let scopes = changes.scopes { self.scopes = scopes }
    if let resources = changes.resources { self.resources = resources }
    if let parameters = changes.authorizationParameters {
      authorizationParameters = try Self.authorizationParameters(parameters)
    }
    if let endpoints = changes.endpoints { self.endpoints = try .init(endpoints) }
    if let redirect = changes.redirect { self.redirect = try .init(redirect) }
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
    if let scope = changes.revocationScope { revocationScope = .init(rawValue: scope.rawValue) ?? revocationScope }
    if let uri = changes.postLogoutRedirectURI {
      guard let url = HTTPURL(uri), url.scheme == .https || url.isLoopback, !uri.contains("#") else {
        throw .invalidParameter(
          "/postLogoutRedirectUri", expected: "an https URL without a fragment; http only on a loopback host")
      }
      postLogoutRedirectURI = uri
    }
    if let persist = changes.persistAccessTokens { persistAccessTokens = persist }
    if let origins = changes.allowedOrigins {
      if let index = origins.firstIndex(where: { RequestTarget.origin($0) == nil }) {
        throw .invalidParameter(
          "/allowedOrigins/\(index)",
          expected: "an origin: https, a host and perhaps a port, without a path; http only on a loopback host")
      }
      allowedOrigins = origins
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
    if let policy = changes.policy { self.policy = policy }
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
  init(_ wire: WireEndpoints) throws(AgentFailure) {
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
  init(_ wire: WireRedirect) throws(AgentFailure) {
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
  init(_ wire: WireRefreshRules) throws(AgentFailure) {
    self.init()
    reuse = Reuse(rawValue: wire.reuse.rawValue) ?? .strict
    if let seconds = wire.graceSeconds { graceSeconds = Int64(seconds) }
    if reuse == .grace, graceSeconds == 0 {
      throw .invalidParameter("/refresh/graceSeconds", expected: "the seconds of grace, since reuse is grace")
    }
    onUnknownOutcome = wire.onUnknownOutcome.flatMap { .init(rawValue: $0.rawValue) }
  }
}

extension WireProvider {
  init(_ provider: Provider) {
    let it = provider.configuration
    self.init(
      name: it.name, issuer: it.issuer, clientId: it.clientID,
      clientRegistered: provider.registration.map { _ in true }, clientSecretSet: provider.clientSecret != nil,
      clientKeySet: provider.clientKey.map { _ in true },
      tokenEndpointAuthMethod: it.tokenEndpointAuthMethod.flatMap { WireClientAuthMethod(rawValue: $0.rawValue) },
      scopes: it.scopes, resources: it.resources,
      authorizationParameters: it.authorizationParameters.isEmpty
        ? nil
        : WireMap(it.authorizationParameters.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }),
      endpoints: WireEndpoints(provider.endpoints),
      ignoredEndpoints: provider.ignoredEndpoints,
      redirect: WireRedirect(host: it.redirect.host, port: it.redirect.port.map(Int.init), path: it.redirect.path),
      refresh: WireRefreshRules(
        reuse: WireTokenReuse(rawValue: provider.reuse.rawValue) ?? .strict,
        graceSeconds: provider.reuse == .grace ? Int(it.refresh.graceSeconds) : nil,
        onUnknownOutcome: WireUnknownOutcomeRule(rawValue: it.onUnknownOutcome.rawValue)),
      refreshBecause: WireRefreshRuleBasis(provider.refreshRuleBasis),
      narrowing: WireNarrowing(rawValue: it.narrowing.rawValue), dpop: WireDpopUse(rawValue: it.dpop.rawValue),
      errorCodes: WireMap(
        it.errorCodes.sorted { $0.key < $1.key }.compactMap { code, meaning in
          WireFailureClass(rawValue: meaning.rawValue).map { .init(name: code, value: $0) }
        }),
      tenant: it.tenant.map { rule in
        switch rule {
        case .claim(let claim): WireTenantRule(claim: claim)
        case .value(let value): WireTenantRule(value: value)
        }
      },
      authorization: WireAuthorizationRules(
        rolesClaim: it.authorization.rolesClaim, tenantClaim: it.authorization.tenantClaim,
        entitlementsUrl: it.authorization.entitlementsURL),
      revocationScope: WireRevocationScope(rawValue: it.revocationScope.rawValue),
      postLogoutRedirectUri: it.postLogoutRedirectURI, persistAccessTokens: it.persistAccessTokens,
      allowedOrigins: it.allowedOrigins,
      pins: WireMap(it.pins.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }),
      pinsExpireAt: it.pinsExpireAt,
      caFile: it.caFile, proxy: it.proxy, policy: it.policy, preset: it.preset)
  }
}

extension WireEndpoints {
  init(_ it: ServerMetadata.Endpoints) {
    self.init(
      authorization: it.authorization, token: it.token, deviceAuthorization: it.deviceAuthorization,
      revocation: it.revocation, introspection: it.introspection, userinfo: it.userinfo, endSession: it.endSession,
      jwks: it.jwks, registration: it.registration, pushedAuthorizationRequest: it.pushedAuthorizationRequest)
  }
}

extension WireRefreshRuleBasis {
  init(_ basis: Provider.RefreshRuleBasis) {
    switch basis {
    case .configured: self = .configured
    case .learned: self = .learned
    case .preset: self = .preset
    case .assumed: self = .assumed
    }
  }
}

extension ClientAuthMethod {
  /// Nil for a method that this agent does not know.
  init?(_ wire: WireClientAuthMethod?) {
    guard let wire else { return nil }
    self.init(rawValue: wire.rawValue)
  }
}
