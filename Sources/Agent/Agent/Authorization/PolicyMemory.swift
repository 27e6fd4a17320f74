internal import AgentCore
internal import AgentModel
internal import AgentOAuth
package import AgentStore

extension PublishedTables {
  var decisions: DecisionCache { self[DecisionCache.self] }
  var policyCache: PolicyCache { self[PolicyCache.self] }
}

extension DecisionCache: AccountWatcher {
  func accountChanged(_ id: AccountID) { withdraw(id) }

  package func close() { withdrawAll() }
}

extension PolicyCache: ProviderWatcher {
  package func fill(from vault: OpenVault) throws {
    let names = vault.providerTable.all.compactMapValues(\.configuration.policy)
    let policies = try vault.records.documents(named: Set(names.values))
    fill(policies, named: names, sourced: try source.map { source in try vault.sourcedPolicies(of: source) })
  }

  package func close() { clear() }

  func providerChanged(_ name: ProviderName, to provider: Provider?) {
    setName(provider?.configuration.policy, of: name)
  }
}

extension MemoryChange {
  static func policy(_ document: PolicyDocument) -> MemoryChange {
    MemoryChange { $0.tables.policyCache.put(document) }
  }

  /// The policy source confirmed the bundle in force, or brought another one.
  static func sourceConfirmed(_ bundled: BundledPolicies?, at moment: TrustedInstant) -> MemoryChange {
    MemoryChange { $0.tables.policyCache.sourceConfirmed(bundled, at: moment) }
  }
}
