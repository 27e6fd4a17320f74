internal import AgentModel
internal import AgentProtocol

/// What a provider is asked while it is being configured.
extension AgentService {
  func discover(_ provider: inout Provider) async throws(AgentFailure) {
    let metadata = try await client(of: provider).discoverOrExplain()
    provider.learn(metadata, at: time.now(for: provider.configuration.name))
  }

  /// Registers the agent at a provider that is being added without a client of its own.
  func register(_ provider: inout Provider) async throws(AgentFailure) {
    guard let endpoint = provider.endpoints.registration else {
      throw .clientIDMissing("This provider registers no programs by itself. " + ProviderClient.byHand)
    }
    let answer = try await client(of: provider).register(at: endpoint)
    provider.configuration.clientID = answer.clientID
    provider.configuration.tokenEndpointAuthMethod = answer.method
    provider.clientSecret = answer.clientSecret
    provider.registration = answer.registration
  }

  /// The client is not used any more: the provider may forget it.
  func takeBackRegistration(of provider: Provider) {
    guard let registration = provider.registration else { return }
    let client = client(of: provider)
    background.start { await client.unregister(registration) }
  }
}

extension AgentFailure {
  /// There is no client id, and no way to get one now.
  static func clientIDMissing(_ why: String) -> AgentFailure {
    .invalidParams(
      "/clientId", expected: "the id of a client that the provider knows, where the agent can't register itself"
    ).with { $0.message = why }
  }
}
