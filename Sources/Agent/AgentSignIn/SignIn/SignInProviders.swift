internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

/// Finds the provider of a sign-in, and asks it for the endpoints that the flow needs.
struct SignInProviders: Sendable {
  let dependencies: AccountDependencies

  /// The provider, with what this flow needs of it.
  func provider(_ name: String, for flow: SignInFlow) async throws(AgentFailure) -> Provider {
    switch flow {
    case .browser, .paste:
      let provider = try await provider(name) { $0.authorization != nil && $0.token != nil }
      guard provider.endpoints.authorization.flatMap(HTTPURL.init) != nil, provider.endpoints.token != nil else {
        let needed = ["authorization", "token"]
        throw .provider(
          .noSignInEndpoints(ignored: (provider.ignoredEndpoints ?? []).filter { needed.contains($0.name) }))
      }
      return provider
    case .device: return try await providerWithDeviceFlow(name)
    }
  }

  /// The provider, with what it says of itself: asked now if what is known of it does not suffice.
  func provider(
    _ name: String, with suffices: (ServerMetadata.Endpoints) -> Bool
  ) async throws(AgentFailure) -> Provider {
    var provider = try await dependencies.vault.provider(named: name)
    guard provider.configuration.kind.hasSignIn else {
      throw .invalidParameter(
        "/provider", expected: "a provider with a sign-in; `account.add` adds the accounts of this one")
    }
    if provider.lacksRequiredPKCE || !suffices(provider.endpoints) {
      let metadata = try await dependencies.client(of: provider).documents.discoverOrExplain()
      let asked = provider.configuration
      let stored = try await dependencies.vault.commitIfOpen { vault throws(AgentFailure) in
        try vault.providers.remember(metadata, of: asked)
      }
      // Not the copy of before: the documents may name another endpoint than the client's secret is for.
      guard let stored else { throw .locked }
      guard let known = stored else { throw .providerNotFound }
      provider = known
    }
    try provider.requirePKCE()
    return provider
  }

  /// Refuses a sign-in whose answer another provider's could pass for (`Provider.canPassOff`).
  func requireDistinctAnswers(of provider: Provider) async throws(AgentFailure) {
    guard let other = try await others(than: provider, { provider.canPassOff($0) }) else { return }
    throw .provider(
      .redirectShared(
        provider.configuration.name, with: other.configuration.name, provider.remedy(forPassingOff: other)))
  }

  /// True if another server of this agent could have made an answer that shows neither its address nor its `iss`.
  func hasOthers(than provider: Provider) async throws(AgentFailure) -> Bool {
    try await others(than: provider, { !provider.isSameServer(as: $0) }) != nil
  }

  private func others(
    than provider: Provider, _ isMeant: @Sendable (Provider) -> Bool
  ) async throws(AgentFailure) -> Provider? {
    let name = provider.configuration.name
    return try await dependencies.vault.read { vault throws(AgentFailure) in
      // At one that has no sign-in no answer begins.
      vault.providerTable.all.filter {
        $0.key != name && $0.value.configuration.kind.hasSignIn && isMeant($0.value)
      }.min { $0.key < $1.key }?.value
    }
  }

  /// The provider, with a place that gives device codes. Real servers name it only in the second document, and one may
  /// have grown it since it was looked at, so its absence is looked into once.
  private func providerWithDeviceFlow(_ name: String) async throws(AgentFailure) -> Provider {
    do throws(AgentFailure) {
      let provider = try await provider(name) { $0.deviceAuthorization != nil && $0.token != nil }
      if provider.endpoints.deviceAuthorization != nil, provider.endpoints.token != nil { return provider }
    } catch {
      // Where all endpoints were given there may be no discovery, and nothing is wrong with that.
      guard case .provider(.document(let failure)) = error, failure.isNoDocument else { throw error }
    }
    throw .signIn(.deviceFlowUnsupported)
  }
}
