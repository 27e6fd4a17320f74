internal import AgentModel
package import AgentOAuth

/// The requests to a provider while it is being configured.
extension AgentService {
  package func discover(_ provider: inout Provider) async throws(AgentFailure) {
    let metadata = try await client(of: provider).discoverOrExplain()
    provider.learn(metadata, at: time.now(for: provider.configuration.name))
  }

  /// Registers the agent at a provider that is being added without a client of its own.
  package func register(_ provider: inout Provider) async throws(AgentFailure) {
    guard let endpoint = provider.endpoints.registration else {
      throw .provider(.clientIDMissing(.notOffered))
    }
    let answer: ClientRegistration.Answer
    do throws(RegistrationFailure) {
      answer = try await client(of: provider).register(at: endpoint)
    } catch {
      throw .provider(.registration(error))
    }
    provider.configuration.clientID = answer.clientID
    provider.configuration.tokenEndpointAuthMethod = answer.method
    provider.clientSecret = answer.clientSecret
    provider.registration = answer.registration
  }

  /// The client is not used any more: the provider may forget it.
  package func takeBackRegistration(of provider: Provider) {
    guard let registration = provider.registration else { return }
    let client = client(of: provider)
    background.start { await client.unregister(registration) }
  }
}
