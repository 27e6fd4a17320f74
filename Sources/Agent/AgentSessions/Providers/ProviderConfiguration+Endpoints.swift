package import AgentModel
package import AgentOAuth

extension ProviderConfiguration {
  /// True if a sign-in needs no discovery: the endpoints are configured, and nothing else is required of the metadata. So
  /// does a provider at which there is no sign-in.
  package var knowsItsEndpoints: Bool {
    kind != .openid || endpoints.authorization != nil && endpoints.token != nil && !requiresPKCE
  }
}

extension Provider {
  /// True if its documents have to be read before it can be used.
  package var needsDiscovery: Bool { !configuration.knowsItsEndpoints }
}
