internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol

/// Changes the given members and keeps the others. For a new issuer its documents are read first.
enum ProviderUpdateHandler: MethodHandler {
  typealias Method = ProviderUpdate

  static func handle(_ params: ProviderUpdate.Params, _ call: Call) async throws(AgentFailure) -> ProviderUpdate.Result
  {
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
    let preset = try params.preset.map { name throws(AgentFailure) in try ProviderPreset.asked(name) }
    var provider = try await call.changeable(params.provider)
    let (before, known) = (provider.configuration, provider)
    provider.configuration.issuer = params.issuer ?? provider.configuration.issuer
    provider.configuration.clientID = params.clientId ?? provider.configuration.clientID
    if provider.configuration.issuer != before.issuer { provider.configuration.forgetPresetEndpoints(of: before) }
    preset?.describe(&provider.configuration)
    try provider.configuration.apply(
      ProviderChanges(
        scopes: params.scopes, resources: params.resources, authorizationParameters: params.authorizationParameters,
        endpoints: params.endpoints, redirect: params.redirect,
        refresh: params.refresh, narrowing: params.narrowing, dpop: params.dpop, errorCodes: params.errorCodes,
        tenant: params.tenant, authorization: params.authorization, revocationScope: params.revocationScope,
        postLogoutRedirectURI: params.postLogoutRedirectUri,
        persistAccessTokens: params.persistAccessTokens, allowedOrigins: params.allowedOrigins, pins: params.pins,
        pinsExpireAt: params.pinsExpireAt,
        caFile: params.caFile, proxy: params.proxy, policy: params.policy))
    // The end of the former pins would end the new ones, too.
    if let pins = params.pins, !pins.entries.isEmpty, params.pinsExpireAt == nil,
      let end = provider.configuration.pinsExpireAt, end <= call.agent.time.now(for: params.provider)
    {
      provider.configuration.pinsExpireAt = nil
    }
    if call.limits != nil, provider.directsElsewhere(than: known) { throw .caller(.notCovered) }
    let issuerChanged = provider.configuration.issuer != before.issuer
    if params.clientId != nil {
      provider.registration = nil
    } else if issuerChanged, provider.registration != nil {
      throw .invalidParameter("/clientId", expected: "the id of a client that the new issuer knows")
    }
    if issuerChanged { provider.forgetMetadata() }
    // An issuer that is named anew, also the same, has its documents read anew.
    if !provider.configuration.knowsItsEndpoints, provider.metadata == nil || params.issuer != nil {
      try await call.agent.discover(&provider)
    }
    // Now it is known where the new provider is: what belongs to another stays with that.
    provider.authenticate(by: params.clientSecret, key: params.clientKey, after: known)
    try provider.chooseAuthentication(
      ClientAuthMethod(params.tokenEndpointAuthMethod), signer: call.agent.environment.keys)
    if provider.issuingClient != known.issuingClient {
      let accounts = try await call.agent.vault.read { vault throws(AgentFailure) in
        vault.directory.accounts(of: params.provider)
      }
      await call.agent.accounts.load(accounts)
    }
    let stored = try await call.agent.vault.commit { [provider, limits = call.limits] vault throws(AgentFailure) in
      try vault.providers.requireCovered(params.provider, by: limits)
      return try vault.providers.update(provider, replacing: known)
    }
    guard let stored else { return nil }
    call.agent.environment.refusals.forget(params.provider)
    if stored.registration == nil { call.agent.takeBackRegistration(of: known) }
    let accounts = try await call.agent.vault.read { vault throws(AgentFailure) in
      vault.directory.accounts(of: params.provider)
    }
    await call.agent.accounts.configurationChanged(accounts)
    call.agent.background.start { [revocations = call.agent.revocations] in
      await revocations.resume(.reconfigured(params.provider))
    }
    return stored
  }
}
