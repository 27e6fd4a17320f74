internal import AgentCore
internal import AgentModel

/// Decides which issuers the agent accepts in documents, answers and ID tokens of a provider.
extension Provider {
  private var pattern: IssuerPattern? {
    configuration.isExact ? nil : preset?.issuerPattern(at: configuration.issuer)
  }

  /// The issuer of a discovery document is the one that was configured, or one of its tenants where the preset says so.
  /// Texts are compared, not addresses: no case is folded, and no port, slash or escape is added or taken away.
  package func isItself(_ issuer: String) -> Bool {
    equalCodePoints(issuer, configuration.issuer) || pattern?.covers(issuer) == true
  }

  /// The issuer that an ID token of this tenant must name; nil if it must name a tenant and does not.
  package func issuer(ofTenant tenant: String?) -> String? {
    guard let pattern else { return configuration.issuer }
    // Some addresses are one tenant's after all, and say so.
    if let told = metadata?.issuer, !pattern.isTemplate(told), pattern.covers(told) { return told }
    return tenant.flatMap { pattern.issuer(ofTenant: $0) }
  }
}
