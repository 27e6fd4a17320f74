internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

/// Changes the given members and keeps the others. For a new issuer its documents are read first.
enum ProviderUpdateHandler: MethodHandler {
  typealias Method = ProviderUpdate

  static func handle(_ params: ProviderUpdate.Params, _ call: Call) async throws(AgentFailure) -> ProviderUpdate.Result
  {
    await call.agent.lookAgain()
    if let policy = params.policy { try await call.requirePolicy(named: policy) }
    for _ in 0..<mostTries {
      let stored = try await call.agent.introductions.run { () async throws(AgentFailure) in
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
      let end = provider.configuration.pinsExpireAt, end <= call.agent.time.now(for: params.provider)
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
