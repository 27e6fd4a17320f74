package import AgentModel

extension ProviderConfiguration {
  /// True if a sign-in needs no discovery.
  package var knowsItsEndpoints: Bool { endpoints.authorization != nil && endpoints.token != nil }
}
