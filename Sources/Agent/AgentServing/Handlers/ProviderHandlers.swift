internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPermissions
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentSignIn
internal import AgentStore
internal import AgentUpkeep
internal import AgentWire

/// Adds a provider after reading its documents, so that a wrong issuer is reported now, and not at the first sign-in.
enum ProviderAddHandler: MethodHandler {
  typealias Method = ProviderAdd

  static func handle(_ params: ProviderAdd.Params, _ call: Call) async throws(AgentFailure) -> ProviderAdd.Result {
    await call.agent.lookAgain()
    let asked = params.issuer ?? params.name.text
    return try await call.agent.introductions.pass(asked) { () async throws(AgentFailure) in
      try await add(params, call)
    }
  }

  private static func add(_ params: ProviderAdd.Params, _ call: Call) async throws(AgentFailure) -> ProviderAdd.Result {
    if params.kind ?? .openid == .openid, params.clientId == nil, params.clientSecret != nil || params.clientKey != nil
    {
      throw .invalidParameter("/clientId", expected: "the id of the client whose secret or key is given")
    }
    try await call.agent.vault.read { vault throws(AgentFailure) in try vault.providers.requireFree(params.name) }
    if let policy = params.policy { try await call.requirePolicy(named: policy) }
    var provider = try Provider(describedBy: params, signer: call.agent.environment.keys)
    try await call.requireCertificates(at: params.caFile)
    if provider.needsDiscovery {
      do throws(AgentFailure) {
        try await call.agent.setup.discover(&provider, isTyped: true)
        // A corrected issuer may be the preset's.
        if let preset = provider.preset {
          provider.configuration.complete(from: preset, tenantClaim: params.authorization?.tenantClaim)
        }
      } catch {
        // Report a missing client id first, where the agent may have to be given one.
        guard params.clientId == nil, provider.preset?.registersClients != true,
          case .provider(.document(let failure)) = error, failure.leavesRegistrationUnknown
        else { throw error }
        throw .provider(.clientIDMissing(.document(failure)))
      }
    }
    if params.clientId == nil, provider.configuration.kind == .openid {
      // Endpoints of the caller's own could be elsewhere.
      let mayTakeClient = params.identity == .resource && params.endpoints == nil
      try await call.agent.setup.identifyClient(
        &provider, mayTakeClient: mayTakeClient, keepsRedirectPath: params.redirect?.path != nil)
    }
    do throws(AgentFailure) {
      if Task.isCancelled { throw .cancelled }
      _ = try await call.agent.vault.commit { [provider] vault throws(AgentFailure) in
        try vault.providers.add(provider)
      }
    } catch {
      call.agent.setup.dropRegistration(of: provider)
      throw error
    }
    return ProviderAdd.Result(provider: WireProvider(provider))
  }
}

extension Provider {
  /// The provider as its members describe it, before its documents are read.
  init(describedBy params: ProviderAdd.Params, signer: any ClientKeySigner) throws(AgentFailure) {
    let asked = params.kind.map { AccountKind($0) }
    let preset = try params.preset.map { name throws(AgentFailure) in try ProviderPreset.asked(name, of: asked) }
    let kind = asked ?? preset?.kind ?? .openid
    if kind != .client, params.machine != nil {
      throw .invalidParameter("/machine", expected: "nothing for a provider of the kind \(kind.rawValue)")
    }
    switch kind {
    case .secret:
      try self.init(ofSecrets: params, preset)
      return
    case .client:
      try self.init(ofMachine: params, signer: signer)
      return
    case .openid: try params.requireMembers(of: .openid)
    }
    var configuration = ProviderConfiguration(
      name: params.name, issuer: try ProviderPreset.issuer(params.issuer, of: preset),
      clientID: params.clientId ?? "")
    preset?.fill(&configuration)
    // A server that is no OpenID provider knows none of the usual scopes.
    if params.identity == .resource { configuration.scopes = [] }
    try configuration.apply(params)
    if let preset { configuration.complete(from: preset, tenantClaim: params.authorization?.tenantClaim) }
    self.init(configuration: configuration, clientSecret: params.clientSecret, clientKey: params.clientKey)
    try chooseAuthentication(ClientAuthMethod(params.tokenEndpointAuthMethod), signer: signer)
  }
}

extension Call {
  /// Whether or not a request needs them now: the next document of the provider may lead to a server with TLS.
  func requireCertificates(at path: String?) async throws(AgentFailure) {
    guard let path, !path.isEmpty else { return }
    guard await agent.environment.http.hasCertificates(at: path) else { throw .provider(.noAuthorities) }
  }

  /// A provider whose policy is not there would deny everything.
  func requirePolicy(named name: String) async throws(AgentFailure) {
    _ = try await agent.vault.read { vault throws(AgentFailure) in try vault.policies.policy(named: name) }
  }
}

enum ProviderListHandler: MethodHandler {
  typealias Method = ProviderList

  static func handle(_ params: ProviderList.Params, _ call: Call) async throws(AgentFailure) -> ProviderList.Result {
    await call.agent.lookAgain()
    let providers = try await call.agent.vault.read { vault throws(AgentFailure) in
      vault.providers.sorted(within: call.limits)
    }
    return ProviderList.Result(providers: providers.map { WireProvider($0) })
  }
}

enum ProviderGetHandler: MethodHandler {
  typealias Method = ProviderGet

  static func handle(_ params: ProviderGet.Params, _ call: Call) async throws(AgentFailure) -> ProviderGet.Result {
    await call.agent.lookAgain()
    let provider = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.providers.provider(named: params.provider.text)
    }
    return ProviderGet.Result(
      provider: WireProvider(provider), trust: WireServerTrust(of: call.agent.setup.client(of: provider)))
  }
}

/// Changes the given members and keeps the others. For a new issuer its documents are read first.
enum ProviderUpdateHandler: MethodHandler {
  typealias Method = ProviderUpdate

  static func handle(_ params: ProviderUpdate.Params, _ call: Call) async throws(AgentFailure) -> ProviderUpdate.Result
  {
    await call.agent.lookAgain()
    if let policy = params.policy { try await call.requirePolicy(named: policy) }
    for _ in 0..<mostTries {
      let stored = try await call.agent.introductions.pass(params.provider.text) { () async throws(AgentFailure) in
        try await update(params, call)
      }
      if let stored { return ProviderUpdate.Result(provider: WireProvider(stored)) }
    }
    throw .overloaded("changes of one provider at one time")
  }

  /// Each further try is after another change of the provider that came first.
  private static let mostTries = 10

  /// Nil if the provider was changed meanwhile: what was judged of this change is not true any more.
  private static func update(_ params: ProviderUpdate.Params, _ call: Call) async throws(AgentFailure) -> Provider? {
    let known = try await call.changeable(params.provider)
    var provider = known
    let kind = provider.configuration.kind
    let preset = try params.preset.map { name throws(AgentFailure) in try ProviderPreset.asked(name, of: kind) }
    if kind == .secret {
      try provider.configuration.apply(secrets: params, preset)
    } else {
      try params.requireMembers(of: kind)
      try configure(&provider, params, preset, call)
    }
    if call.limits != nil, provider.directsElsewhere(than: known) { throw .caller(.notCovered) }
    try await call.requireCertificates(at: params.caFile)
    try await readDocuments(of: &provider, params, after: known, call)
    // Now it is known where the new provider is: what belongs to another stays with that.
    provider.authenticate(by: params.clientSecret, key: params.clientKey, after: known)
    try provider.chooseAuthentication(
      ClientAuthMethod(params.tokenEndpointAuthMethod), signer: call.agent.environment.keys)
    try provider.requireMachineCredentials()
    if provider.issuingClient != known.issuingClient {
      await call.agent.accounts.load(try await accounts(of: params.provider, call))
    }
    let stored = try await call.agent.vault.commit { [provider, limits = call.limits] vault throws(AgentFailure) in
      try vault.providers.requireCovered(params.provider, by: limits)
      return try vault.providers.update(provider, replacing: known)
    }
    guard let stored else { return nil }
    try await applyConsequences(of: stored, replacing: known, call)
    return stored
  }

  /// Applies the members of `params`; absent ones keep their value.
  private static func configure(
    _ provider: inout Provider, _ params: ProviderUpdate.Params, _ preset: ProviderPreset?, _ call: Call
  ) throws(AgentFailure) {
    let before = provider.configuration
    provider.configuration.issuer = Self.issuer(params.issuer, after: before)
    provider.configuration.clientID = params.clientId ?? before.clientID
    if !equalCodePoints(provider.configuration.issuer, before.issuer) {
      provider.configuration.forgetPresetEndpoints(of: before)
    }
    preset?.describe(&provider.configuration)
    try provider.configuration.apply(params)
    // The end of the former pins would end the new ones, too.
    if let pins = params.pins, !pins.entries.isEmpty, params.pinsExpireAt == nil,
      let end = provider.configuration.pinsExpireAt, end <= call.agent.time.calendarTime(of: params.provider)
    {
      provider.configuration.pinsExpireAt = nil
    }
  }

  /// A last slash more or less is a slip and no other issuer, where issuers are not compared exactly.
  private static func issuer(_ typed: String?, after before: ProviderConfiguration) -> String {
    guard let typed else { return before.issuer }
    let isSlip = equalCodePoints(typed + "/", before.issuer) || equalCodePoints(typed, before.issuer + "/")
    return isSlip && !before.isExact ? before.issuer : typed
  }

  /// Reads the documents if the issuer changed, or if `params.issuer` names it.
  private static func readDocuments(
    of provider: inout Provider, _ params: ProviderUpdate.Params, after known: Provider, _ call: Call
  ) async throws(AgentFailure) {
    let issuerChanged = !equalCodePoints(provider.configuration.issuer, known.configuration.issuer)
    if params.clientId != nil {
      // A person registers the usual path with a client, unless they say another.
      if params.redirect == nil, provider.registration != nil { provider.configuration.forgetOwnRedirectPath() }
      provider.registration = nil
    } else if issuerChanged, provider.registration != nil {
      throw .invalidParameter("/clientId", expected: "the id of a client that the new issuer knows")
    }
    if issuerChanged { provider.forgetMetadata() }
    if provider.needsDiscovery, provider.metadata == nil || params.issuer != nil || provider.lacksRequiredPKCE {
      try await call.agent.setup.discover(&provider, isTyped: params.issuer != nil)
    }
  }

  /// What follows from a change that is stored.
  private static func applyConsequences(of stored: Provider, replacing known: Provider, _ call: Call)
    async throws(AgentFailure)
  {
    let name = stored.configuration.name
    call.agent.environment.refusals.forget(name)
    if stored.registration == nil { call.agent.setup.takeBackRegistration(of: known) }
    await call.agent.accounts.configurationChanged(try await accounts(of: name, call))
    call.agent.background.start { [revocations = call.agent.revocations] in
      await revocations.resume(.reconfigured(name))
    }
  }

  private static func accounts(of provider: ProviderName, _ call: Call) async throws(AgentFailure) -> [AccountID] {
    try await call.agent.vault.read { vault throws(AgentFailure) in vault.directory.accounts(of: provider) }
  }
}

enum ProviderRemoveHandler: MethodHandler {
  typealias Method = ProviderRemove

  static func handle(_ params: ProviderRemove.Params, _ call: Call) async throws(AgentFailure) -> ProviderRemove.Result
  {
    await call.agent.lookAgain()
    let removed = try await call.agent.vault.commit { [limits = call.limits] vault throws(AgentFailure) in
      try vault.providers.remove(named: params.provider, by: limits)
    }
    call.agent.setup.takeBackRegistration(of: removed)
    call.agent.environment.refusals.forget(params.provider)
    call.agent.connectivity.removed(params.provider)
    return ProviderRemove.Result(removed: params.provider)
  }
}

enum ProviderTestHandler: MethodHandler {
  typealias Method = ProviderTest

  static func handle(_ params: ProviderTest.Params, _ call: Call) async throws(AgentFailure) -> ProviderTest.Result {
    let provider = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.providers.provider(named: params.provider.text)
    }
    let findings = try await call.agent.providerTests.findings(of: provider, by: call.agent.setup)
    if Task.isCancelled { throw .cancelled }
    return ProviderTest.Result(findings: findings.map { WireFinding($0) })
  }
}

enum ProviderDiscoverHandler: MethodHandler {
  typealias Method = ProviderDiscover

  static func handle(
    _ params: ProviderDiscover.Params, _ call: Call
  ) async throws(AgentFailure) -> ProviderDiscover.Result {
    // A locked agent adds no provider, so it looks for none.
    _ = try await call.agent.vault.read { vault throws(AgentFailure) in vault.providerTable.all.isEmpty }
    let discovery = try IssuerDiscovery(
      params.url, exactly: params.exact == true, caFile: params.caFile, proxy: params.proxy, of: call.agent.setup)
    try await call.requireCertificates(at: params.caFile)
    let found = try await call.agent.searches.run { () async throws(AgentFailure) in try await discovery.run() }
    // As much as the schema allows: what a server tells has no end of its own.
    guard found.issuer.utf8.count <= longestIssuer else { throw .provider(.document(.malformed)) }
    let methods = found.metadata?.tokenEndpointAuthMethods ?? found.preset?.tokenEndpointAuthMethods ?? []
    return ProviderDiscover.Result(
      issuer: found.issuer, isElsewhere: found.isElsewhere, preset: found.preset?.name,
      endpoints: WireEndpoints(found.endpoints),
      tokenEndpointAuthMethods: Array(methods.filter { $0.utf8.count <= longestMethod }.prefix(mostMethods)),
      pkce: found.metadata?.codeChallengeMethods.contains("S256") == true,
      dpop: found.metadata.map { !$0.dpopAlgorithms.isEmpty } ?? false,
      scopesSupported: found.metadata?.scopesSupported,
      clientIdMetadataDocuments: found.metadata?.clientIDMetadataDocuments == true)
  }

  private static let longestIssuer = 2048
  private static let mostMethods = 64
  private static let longestMethod = 256
}
