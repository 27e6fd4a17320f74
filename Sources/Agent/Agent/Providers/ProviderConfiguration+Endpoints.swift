package import AgentModel
internal import AgentVault

extension ProviderConfiguration {
  /// True if a sign-in needs no discovery.
  package var knowsItsEndpoints: Bool { endpoints.authorization != nil && endpoints.token != nil }
}
