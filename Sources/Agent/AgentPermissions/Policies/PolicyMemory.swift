package import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentRecords
package import AgentStore

extension PublishedTables {
  package var policyCache: PolicyCache { self[PolicyCache.self] }
}

extension PolicyCache: ProviderWatcher {
  package func fill(from vault: OpenVault) throws {
    let names = vault.providerTable.all.compactMapValues(\.configuration.policy)
    let policies = try vault.records.documents(named: Set(names.values))
    let services = vault.providerTable.all.compactMapValues(\.configuration.preset)
    fill(
      policies, named: names, services: services,
      sourced: try source.map { source in try vault.sourcedPolicies(of: source) })
  }

  package func close() { clear() }

  package func providerChanged(_ name: ProviderName, to provider: Provider?) {
    set(provider?.configuration.policy, service: provider?.configuration.preset, of: name)
  }
}

extension MemoryChange {
  package static func policy(_ document: PolicyDocument) -> MemoryChange {
    MemoryChange { $0.tables.policyCache.put(document) }
  }

  /// The policy source confirmed the bundle in force, or brought another one.
  static func sourceConfirmed(_ bundled: BundledPolicies?, at moment: TrustedInstant) -> MemoryChange {
    MemoryChange { $0.tables.policyCache.sourceConfirmed(bundled, at: moment) }
  }
}
