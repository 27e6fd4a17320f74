package import AgentCore
package import AgentModel
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// A configured provider with its secret, and what it last said of itself: kept so that the agent starts and serves
/// without a network.
package struct Provider: Sendable {
  /// Some eighty members behind one reference: jobs, answers and records hold a provider each, and would otherwise have the
  /// code that copies all of these (docs/decisions/0041-large-parts-stand-behind-a-reference.md).
  private final class Description: Sendable {
    let configuration: ProviderConfiguration
    let metadata: ServerMetadata?

    init(_ configuration: ProviderConfiguration, _ metadata: ServerMetadata?) {
      (self.configuration, self.metadata) = (configuration, metadata)
    }
  }

  private var description: Description
  package var configuration: ProviderConfiguration {
    _read { yield description.configuration }
    set { description = Description(newValue, description.metadata) }
  }
  /// Nil until a discovery succeeded, or for ever where all endpoints were given.
  package var metadata: ServerMetadata? {
    _read { yield description.metadata }
    set { description = Description(description.configuration, newValue) }
  }
  /// The client's secret; nil without one, and where the one that is stored belongs to another client or server.
  package var clientSecret: Secret? { hasOwnCredentials ? storedSecret : nil }
  /// The client's key as the person gave it; nil as `clientSecret`.
  package var clientKey: Secret? { hasOwnCredentials ? storedKey : nil }
  private var storedSecret: Secret?
  private var storedKey: Secret?
  /// The client whose secret and key are stored; nil if its issuer, id and token endpoint did not change since they were
  /// given.
  private var credentialsOf: IssuingClient?
  private var hasOwnCredentials: Bool { credentialsOf.map { isIssuer(of: $0) } ?? true }
  /// The origins that the secret and the key were given for; nil if no endpoint was configured at another one since.
  private var credentialPlaces: Set<String>?
  /// The providers that this configuration replaced, as far as accounts still have tokens of them.
  package var former: [Provider] = []
  /// The client is one that the agent registered itself.
  package var registration: ClientRegistration?
  /// The administrator's file that describes the provider (docs/administrator.md); nil for one that the
  /// person added.
  package var managedBy: String?
  /// The file is gone. The accounts wait for it: they get no token, and lose nothing.
  package var isGone = false
  /// The provider of the person that a file of the administrator stands before; at most one.
  package var own: [Provider] = []
  /// By the provider's time.
  package private(set) var metadataReadAt: Timestamp?

  /// What the answers to refreshes showed; nil before the first.
  package var learnedReuse: LearnedReuse?

  /// True if a secret or a key is stored, also one that is withheld.
  var hasStoredSecret: Bool { storedSecret != nil }
  var hasStoredKey: Bool { storedKey != nil }

  /// Replaces the client's secret or key, or both; nil keeps the one that is stored, if it belongs to the same client as
  /// the new one. `before`: the provider before the change that brings them.
  package mutating func authenticate(by secret: Secret?, key: Secret?, after before: Provider? = nil) {
    if let before { keepCredentials(of: before) }
    guard secret != nil || key != nil else { return }
    let isElsewhere = credentialPlaces.map { !Self.origins(of: configuration.endpoints).isSubset(of: $0) } ?? false
    if isElsewhere || !hasOwnCredentials { (storedSecret, storedKey) = (nil, nil) }
    storedSecret = secret ?? storedSecret
    storedKey = key ?? storedKey
    (credentialsOf, credentialPlaces) = (nil, nil)
  }

  /// Takes the client that is configured for the same authorization server, with its secret or key, method and redirect.
  package mutating func takeClient(of known: Provider) {
    configuration.clientID = known.configuration.clientID
    configuration.tokenEndpointAuthMethod = known.configuration.tokenEndpointAuthMethod
    configuration.redirect = known.configuration.redirect
    authenticate(by: known.clientSecret, key: known.clientKey)
  }

  /// True if a provider of a resource may have this provider's client: one that its operator gave, of the same server.
  /// A secret goes along only where the server is reached in the same way.
  package func lendsClient(to other: Provider, notOf document: String?) -> Bool {
    guard configuration.kind == .openid, configuration.issuer == other.configuration.issuer,
      endpoints.token == other.endpoints.token,
      endpoints.authorization == other.endpoints.authorization, registration == nil, !isGone,
      !configuration.clientID.isEmpty, configuration.clientID != document
    else { return false }
    guard hasStoredSecret || hasStoredKey else { return true }
    let isReachedAlike =
      configuration.caFile == other.configuration.caFile && configuration.proxy == other.configuration.proxy
      && configuration.pins == other.configuration.pins
      && configuration.pinsExpireAt == other.configuration.pinsExpireAt
    return isReachedAlike && (clientSecret != nil || clientKey != nil)
  }

  /// The secret and the key stay those of the client that they were given for.
  package mutating func keepCredentials(of before: Provider) {
    guard hasStoredSecret || hasStoredKey, credentialsOf == nil else { return }
    let known = Self.origins(of: before.endpoints).union(HTTPURL(before.configuration.issuer).map { [$0.origin] } ?? [])
    let isElsewhere = !Self.origins(of: configuration.endpoints).isSubset(of: known)
    guard isElsewhere || issuingClient != before.issuingClient else { return }
    (credentialsOf, credentialPlaces) = (before.issuingClient, known)
  }

  /// Whether the client authenticates at this endpoint: one that a person configured at another origin gets no secret
  /// and no assertion that was given before.
  package func mayAuthenticate(at endpoint: String) -> Bool {
    guard let credentialPlaces, let place = HTTPURL(endpoint)?.origin else { return true }
    return credentialPlaces.contains(place) || metadata.map { Self.origins(of: $0.endpoints).contains(place) } ?? false
  }

  /// The origins that the client authenticates at.
  private static func origins(of endpoints: ServerMetadata.Endpoints) -> Set<String> {
    let places = [
      endpoints.token, endpoints.revocation, endpoints.introspection, endpoints.deviceAuthorization,
      endpoints.pushedAuthorizationRequest,
    ]
    return Set(places.compactMap { $0.flatMap { HTTPURL($0)?.origin } })
  }

  package mutating func learn(_ metadata: ServerMetadata, at moment: Timestamp) {
    self.metadata = metadata
    metadataReadAt = moment
  }

  package mutating func forgetMetadata() { (metadata, metadataReadAt) = (nil, nil) }

  /// The configured endpoints, completed by the discovered ones.
  package var endpoints: ServerMetadata.Endpoints {
    guard let metadata else { return configuration.endpoints }
    return configuration.endpoints.completed(from: metadata.endpoints)
  }

  /// The endpoints that its documents name in vain and the configuration does not replace; nil if there are none.
  package var ignoredEndpoints: [ServerMetadata.IgnoredEndpoint]? {
    let ignored = configuration.endpoints.missing(of: metadata?.ignoredEndpoints ?? [])
    return ignored.isEmpty ? nil : ignored
  }

  /// True if the configuration requires PKCE and the metadata does not list it, or none was read.
  package var lacksRequiredPKCE: Bool {
    configuration.requiresPKCE && metadata?.codeChallengeMethods.contains("S256") != true
  }

  /// True if the provider ties a code to the request that asked for it: by PKCE (RFC 7636 §4.6), or by the nonce in the
  /// ID token, which is required where the scope `openid` is both configured and asked for.
  package func bindsCodes(askedWith scopes: [String]) -> Bool {
    metadata?.codeChallengeMethods.contains("S256") == true
      || configuration.scopes.contains("openid") && scopes.contains("openid")
  }

  /// The refresh rule that applies to its accounts. What was learned does not change it: a provider that returned the
  /// same refresh token so far may rotate now and then, and a lost answer may be one that rotated.
  package var refreshRule: ProviderConfiguration.RefreshRule {
    var rule = configuration.refresh
    rule.onUnknownOutcome = configuration.onUnknownOutcome
    rule.narrowing = configuration.narrowing
    rule.refusesBearerTokens = configuration.dpop == .required
    rule.standardResource = configuration.standardResource
    rule.scopeSeparators = scopeSeparators
    let preset = configuration.preset
    rule.secrets = configuration.secret.map {
      .init(
        isAsked: $0.whoami != nil, placement: $0.placement,
        username: $0.placement.username ?? preset.flatMap(ProviderPreset.named)?.username)
    }
    return rule
  }

  /// What stands between the scopes of its answers.
  package var scopeSeparators: ScopeSet.Separators {
    preset?.commaSeparatedScopes == true ? .spacesAndCommas : .spaces
  }

  /// How the provider treats refresh tokens, as `provider.get` tells it.
  package var reuse: ProviderConfiguration.RefreshRule.Reuse {
    refreshRuleBasis == .learned ? .none : configuration.refresh.reuse
  }

  /// Where `reuse` comes from.
  package enum RefreshRuleBasis: String, Sendable, CaseIterable { case configured, learned, preset, assumed }

  /// Where `reuse` comes from. An observation is better than what a preset assumes.
  package var refreshRuleBasis: RefreshRuleBasis {
    if configuration.isRefreshConfigured { return .configured }
    // A preset that says the same is worth more: it knows, also about a lost answer.
    if learnedReuse == LearnedReuse.none, configuration.refresh.reuse != .none { return .learned }
    return preset == nil ? .assumed : .preset
  }

  /// Learns from an answer to a refresh; false if that says nothing new, or the person chose the rule.
  package mutating func learnReuse(broughtAnother: Bool) -> Bool {
    guard !configuration.isRefreshConfigured else { return false }
    let learned = LearnedReuse.after(learnedReuse, broughtAnother: broughtAnother)
    guard learned != learnedReuse else { return false }
    learnedReuse = learned
    return true
  }

  package var preset: ProviderPreset? { configuration.preset.flatMap(ProviderPreset.named) }

  /// The authentication methods that the provider's metadata or its preset names; empty if neither names one.
  package var tokenEndpointAuthMethods: [String] {
    if let told = metadata?.tokenEndpointAuthMethods, !told.isEmpty { return told }
    return preset?.tokenEndpointAuthMethods ?? []
  }

  package var record: Secret {
    SecretJSON.write { writer in
      let it = configuration
      writer.member("name", it.name.text)
      writer.member("issuer", it.issuer)
      writer.member("clientId", it.clientID)
      writer.member("clientSecret", storedSecret)
      writer.member("clientKey", storedKey)
      credentialsOf?.write(to: &writer, as: "credentialsOf")
      if let credentialPlaces { writer.member("credentialPlaces", credentialPlaces.sorted()) }
      if !former.isEmpty {
        writer.key("former")
        writer.beginArray()
        for provider in former { provider.record.withBytes { writer.string(utf8: $0) } }
        writer.endArray()
      }
      writer.member("managedBy", managedBy)
      if isGone {
        writer.key("gone")
        writer.bool(true)
      }
      if let own = own.first {
        writer.key("own")
        own.record.withBytes { writer.string(utf8: $0) }
      }
      writer.member("tokenEndpointAuthMethod", it.tokenEndpointAuthMethod?.rawValue)
      writer.member("scopes", it.scopes)
      writer.member("resources", it.resources)
      it.writeAuthorizationParameters(to: &writer)
      writer.key("endpoints")
      it.endpoints.write(to: &writer)
      writer.member("redirectHost", it.redirect.host)
      writer.member("redirectPort", it.redirect.port.map(Int64.init))
      writer.member("redirectPath", it.redirect.path)
      writer.member("reuse", it.refresh.reuse.rawValue)
      writer.member("graceSeconds", it.refresh.graceSeconds)
      writer.member("onUnknownOutcome", it.refresh.onUnknownOutcome?.rawValue)
      if it.isRefreshConfigured {
        writer.key("refreshConfigured")
        writer.bool(true)
      }
      writer.member("learnedReuse", learnedReuse?.rawValue)
      writer.member("narrowing", it.narrowing.rawValue)
      writer.member("dpop", it.dpop.rawValue)
      it.writeExactness(to: &writer)
      it.writeKind(to: &writer)
      writer.key("errorCodes")
      writer.beginObject()
      for (code, meaning) in it.errorCodes.sorted(by: { $0.key < $1.key }) {
        writer.key(code)
        writer.string(meaning.rawValue)
      }
      writer.endObject()
      switch it.tenant {
      case .claim(let claim)?: writer.member("tenantClaim", claim)
      case .value(let value)?: writer.member("tenantValue", value)
      case nil: break
      }
      writer.member("rolesClaim", it.authorization.rolesClaim)
      writer.member("authorizationTenantClaim", it.authorization.tenantClaim)
      writer.member("entitlementsUrl", it.authorization.entitlementsURL)
      writer.member("revocationScope", it.revocationScope.rawValue)
      writer.member("postLogoutRedirectUri", it.postLogoutRedirectURI)
      writer.key("persistAccessTokens")
      writer.bool(it.persistAccessTokens)
      writer.member("allowedOrigins", it.allowedOrigins)
      if !it.allowedFields.isEmpty { writer.member("allowedFields", it.allowedFields) }
      writer.key("pins")
      writer.beginObject()
      for (host, pins) in it.pins.sorted(by: { $0.key < $1.key }) {
        writer.key(host)
        writer.beginArray()
        for pin in pins { writer.string(pin) }
        writer.endArray()
      }
      writer.endObject()
      writer.member("pinsExpireAt", it.pinsExpireAt?.milliseconds)
      writer.member("caFile", it.caFile)
      writer.member("proxy", it.proxy)
      writer.member("policy", it.policy)
      writer.member("preset", it.preset)
      if let registration {
        writer.key("registered")
        writer.bool(true)
        writer.member("registrationUri", registration.managementURL)
        writer.member("registrationToken", registration.accessToken)
      }
      if let metadata {
        writer.key("metadata")
        metadata.write(to: &writer)
        writer.member("metadataReadAt", metadataReadAt?.milliseconds)
      }
    }
  }

  package init(
    configuration: ProviderConfiguration, clientSecret: Secret? = nil, clientKey: Secret? = nil,
    metadata: ServerMetadata? = nil
  ) {
    description = Description(configuration, metadata)
    storedSecret = clientSecret
    storedKey = clientKey
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> Provider? in
      guard let name = node["name"]?.string.flatMap({ ProviderName($0) }), let issuer = node["issuer"]?.string,
        let clientID = node["clientId"]?.string
      else { return nil }
      var it = ProviderConfiguration(name: name, issuer: issuer, clientID: clientID)
      it.scopes = node["scopes"]?.strings ?? []
      it.resources = node["resources"]?.strings ?? []
      it.readAuthorizationParameters(node)
      it.endpoints = node["endpoints"].map(ServerMetadata.Endpoints.init) ?? .init()
      it.redirect.host = node["redirectHost"]?.string ?? it.redirect.host
      it.redirect.port = node["redirectPort"]?.integer.flatMap { UInt16(exactly: $0) }
      it.redirect.path = node["redirectPath"]?.string ?? it.redirect.path
      it.refresh.reuse = node["reuse"]?.string.flatMap { .init(rawValue: $0) } ?? .strict
      it.refresh.graceSeconds = node["graceSeconds"]?.integer ?? 0
      it.refresh.onUnknownOutcome = node["onUnknownOutcome"]?.string.flatMap { .init(rawValue: $0) }
      it.isRefreshConfigured = node["refreshConfigured"]?.bool ?? false
      it.narrowing = node["narrowing"]?.string.flatMap { .init(rawValue: $0) } ?? .unknown
      it.dpop = node["dpop"]?.string.flatMap { .init(rawValue: $0) } ?? .auto
      it.readExactness(node)
      it.readKind(node)
      for (code, meaning) in node.members(of: "errorCodes") {
        guard let code = code.string, let meaning = meaning.string.flatMap({ FailureClass(rawValue: $0) }) else {
          continue
        }
        it.errorCodes[code] = meaning
      }
      it.tenant = node["tenantClaim"]?.string.map { .claim($0) } ?? node["tenantValue"]?.string.map { .value($0) }
      it.authorization.rolesClaim = node["rolesClaim"]?.string
      it.authorization.tenantClaim = node["authorizationTenantClaim"]?.string
      it.authorization.entitlementsURL = node["entitlementsUrl"]?.string
      it.revocationScope = node["revocationScope"]?.string.flatMap { .init(rawValue: $0) } ?? .family
      it.postLogoutRedirectURI = node["postLogoutRedirectUri"]?.string
      it.persistAccessTokens = node["persistAccessTokens"]?.bool ?? false
      it.allowedOrigins = node["allowedOrigins"]?.strings ?? []
      it.allowedFields = node["allowedFields"]?.strings ?? []
      for (host, pins) in node.members(of: "pins") {
        if let host = host.string, let pins = pins.strings { it.pins[host] = pins }
      }
      it.pinsExpireAt = node["pinsExpireAt"]?.timestamp
      it.caFile = node["caFile"]?.string
      it.proxy = node["proxy"]?.string
      it.policy = node["policy"]?.string
      it.preset = node["preset"]?.string
      it.tokenEndpointAuthMethod = node["tokenEndpointAuthMethod"]?.string.flatMap { .init(rawValue: $0) }
      var provider = Provider(
        configuration: it, clientSecret: node["clientSecret"]?.secret, clientKey: node["clientKey"]?.secret,
        metadata: node["metadata"].flatMap { ServerMetadata($0) })
      if node["registered"]?.bool == true {
        provider.registration = ClientRegistration(
          managementURL: node["registrationUri"]?.string, accessToken: node["registrationToken"]?.secret)
      }
      provider.metadataReadAt = node["metadataReadAt"]?.timestamp
      provider.credentialsOf = node["credentialsOf"].flatMap { IssuingClient($0) }
      provider.credentialPlaces = node["credentialPlaces"]?.strings.map { Set($0) }
      provider.former = (node["former"].map { Array($0.elements) } ?? []).compactMap {
        $0.secret.flatMap(Provider.init)
      }
      provider.managedBy = node["managedBy"]?.string
      provider.isGone = node["gone"]?.bool ?? false
      provider.own = [node["own"]?.secret.flatMap(Provider.init)].compactMap { $0 }
      provider.learnedReuse = node["learnedReuse"]?.string.flatMap { .init(rawValue: $0) }
      return provider
    }
    guard let read else { return nil }
    self = read
  }
}
