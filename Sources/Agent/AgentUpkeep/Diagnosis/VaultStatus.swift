package import AgentCore
internal import AgentPorts
package import AgentRecords
package import AgentStore

/// The vault's part of `agent.status`, also while it is locked.
package struct VaultStatus: Sendable {
  package var isLocked: Bool
  package var isInitialized: Bool
  package var protection: KeyProtection
  /// The kinds of its key slots.
  var slotProtections: Set<String>
  package var profiles: [AccountProfile]
  package var pendingRevocations: Int
  package var pendingOperations: Int

  /// `vault` is nil while it is locked. `grant` limits the answer to the accounts that it covers.
  init(
    _ vault: OpenVault?, slots: [KeySlotRow], chosen: String, within grant: EffectiveGrant?
  ) throws(AgentFailure) {
    isLocked = vault == nil
    isInitialized = !slots.isEmpty
    slotProtections = Set(slots.map(\.protection))
    protection = Self.protection(by: slotProtections, chosen)
    profiles = vault.map { Array($0.directory.profiles.values) } ?? []
    pendingRevocations = try vault?.outbox.entries(within: grant).count ?? 0
    pendingOperations =
      vault?.operationTallies.reduce(0) { $0 + (grant?.covers($1.key) ?? true ? $1.value.pending : 0) } ?? 0
    if let grant { profiles = profiles.filter { grant.covers($0.id) } }
  }

  /// A store is as well protected as by the weakest of its slots; without a slot, as the agent was started for.
  private static func protection(by there: Set<String>, _ chosen: String) -> KeyProtection {
    let fromTheWeakest: [KeyProtection] = [.keyFile, .systemdCredential, .secretService, .passphrase]
    return fromTheWeakest.first { there.contains($0.rawValue) }
      ?? KeyProtection(rawValue: chosen) ?? .passphrase
  }
}

extension VaultActor {
  /// The answer to `agent.status`, also for a locked vault. `grant` limits it to the accounts that it covers.
  package func status(within grant: EffectiveGrant? = nil) throws(AgentFailure) -> VaultStatus {
    try VaultStatus(vault, slots: slots(), chosen: dependencies.protection, within: grant)
  }
}
