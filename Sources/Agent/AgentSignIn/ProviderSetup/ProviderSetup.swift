internal import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentRecords
package import AgentSessions
package import AgentStore

/// The requests to a provider while it is being configured.
package struct ProviderSetup: Sendable {
  package let environment: AgentEnvironment
  package let vault: VaultActor
  package let time: TimeKeeper
  package let background: BackgroundWork
  private let revocations: RevocationWorker

  package init(
    environment: AgentEnvironment, vault: VaultActor, time: TimeKeeper, background: BackgroundWork,
    revocations: RevocationWorker
  ) {
    self.environment = environment
    self.vault = vault
    self.time = time
    self.background = background
    self.revocations = revocations
  }

  /// A client for a provider that is being configured. Its failures do not count for connectivity, since its address
  /// may be mistyped.
  package func client(of provider: Provider) -> ProviderClient {
    ProviderClient(provider: provider, dependencies: .init(environment, time: time))
  }

  /// Reads the provider's documents.
  ///
  /// - Parameter isTyped: a person gave the issuer. Whether it ends with a slash is easily mistaken, and both forms have
  ///   their document at the same place: the issuer becomes the one that the document names. It is compared exactly from
  ///   then on (RFC 8414 §3.3).
  package func discover(_ provider: inout Provider, isTyped: Bool = false) async throws(AgentFailure) {
    let metadata: ServerMetadata
    do throws(AgentFailure) {
      metadata = try await client(of: provider).documents.discoverOrExplain()
    } catch {
      guard isTyped, !provider.configuration.isExact, case .provider(.document(let failure)) = error,
        failure.isNoDocument
      else { throw error }
      var other = provider
      let issuer = provider.configuration.issuer
      other.configuration.issuer = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer + "/"
      let found = try? await client(of: other).documents.discover()
      if Task.isCancelled { throw .cancelled }
      guard let found else { throw error }
      (provider, metadata) = (other, found)
    }
    provider.learn(metadata, at: time.now(for: provider.configuration.name))
    try provider.requirePKCE()
  }

  /// Gives the client an id where the person gave none: the Client ID Metadata Document of the agent's configuration
  /// where the provider takes one, else one that the provider makes (docs/providers.md, The client's id).
  ///
  /// - Parameters:
  ///   - mayTakeClient: for a resource: a client that the person configured for the same authorization server comes first,
  ///     in the order of MCP.
  ///   - keepsRedirectPath: the person chose the path of the redirect URI. Else a client that the provider makes gets a
  ///     path of its own.
  package func identifyClient(
    _ provider: inout Provider, mayTakeClient: Bool, keepsRedirectPath: Bool
  ) async throws(AgentFailure) {
    if mayTakeClient, let known = try await knownClient(for: provider) {
      provider.takeClient(of: known)
      return
    }
    guard provider.metadata?.clientIDMetadataDocuments == true,
      let document = environment.configuration.clientIDMetadataDocument
    else {
      if !keepsRedirectPath {
        provider.configuration.redirect.path = ProviderConfiguration.Redirect.ownPath(of: provider.configuration.name)
      }
      return try await register(&provider)
    }
    provider.configuration.clientID = document
    // The document is public, so that no secret can stand in it.
    provider.configuration.tokenEndpointAuthMethod = .publicClient
  }

  /// The first by name, so that each resource of a server gets the same client.
  private func knownClient(for provider: Provider) async throws(AgentFailure) -> Provider? {
    let document = environment.configuration.clientIDMetadataDocument
    return try await vault.read { vault throws(AgentFailure) in
      vault.providerTable.all.values.filter { $0.lendsClient(to: provider, notOf: document) }
        .min { $0.configuration.name < $1.configuration.name }
    }
  }

  /// Registers the agent at a provider that is being added without a client of its own.
  func register(_ provider: inout Provider) async throws(AgentFailure) {
    guard let endpoint = provider.endpoints.registration else {
      throw .provider(.clientIDMissing(.notOffered))
    }
    let redirect = provider.configuration.redirect
    provider.configuration.redirect.port = redirect.port ?? freePort(for: redirect)
    let answer: ClientRegistration.Answer
    do throws(RegistrationFailure) {
      answer = try await client(of: provider).registrar.register(at: endpoint)
    } catch {
      throw .provider(.registration(error))
    }
    provider.configuration.clientID = answer.clientID
    provider.configuration.tokenEndpointAuthMethod = answer.method
    provider.authenticate(by: answer.clientSecret, key: nil)
    provider.registration = answer.registration
  }

  /// Below the range from which Linux takes the ports of outgoing connections (`ip_local_port_range`), which could be
  /// in use at a sign-in.
  private static let redirectPorts: ClosedRange<UInt16> = 20_000...32_000

  /// A port that is free now, to be registered and kept: some servers compare the port of a redirect, though RFC 8252
  /// §7.3 has them ignore it. Nil if none is found, so that each sign-in takes any.
  private func freePort(for redirect: ProviderConfiguration.Redirect) -> UInt16? {
    for _ in 0..<16 {
      let drawn = environment.entropy.fraction() * Double(Self.redirectPorts.count)
      let port = Self.redirectPorts.lowerBound + UInt16(drawn)
      let listener = try? environment.redirects.listen(
        host: redirect.host, port: port, path: redirect.path, onRequest: { _ in SignInPage.ended() },
        onRefusal: { _ in })
      guard let listener else { continue }
      listener.stop()
      return port
    }
    return nil
  }

  /// The client was registered and never configured: no token is its.
  package func dropRegistration(of provider: Provider) {
    guard let registration = provider.registration else { return }
    let client = client(of: provider)
    background.start { await client.registrar.unregister(registration) }
  }

  /// The client is not configured any more: the provider may forget it, once nothing is left to revoke by it.
  package func takeBackRegistration(of provider: Provider) {
    guard provider.registration != nil else { return }
    background.start { [revocations] in await revocations.unregister(provider) }
  }
}
