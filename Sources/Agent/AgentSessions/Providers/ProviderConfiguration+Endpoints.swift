package import AgentModel
package import AgentOAuth

extension ProviderConfiguration {
  /// True if no discovery is needed: the endpoints are configured, and nothing else is required of the metadata. A
  /// provider of secrets has no documents.
  package var knowsItsEndpoints: Bool {
    switch kind {
    case .openid: endpoints.authorization != nil && endpoints.token != nil && !requiresPKCE
    case .secret: true
    case .client: endpoints.token != nil
    }
  }
}

extension Provider {
  /// True if its documents have to be read before it can be used.
  package var needsDiscovery: Bool { !configuration.knowsItsEndpoints }
}
