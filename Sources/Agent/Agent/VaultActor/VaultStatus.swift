package import AgentCore
package import AgentPorts

/// The vault's part of `agent.status`, also while it is locked.
package struct VaultStatus: Sendable {
  package var isLocked: Bool
  package var isInitialized: Bool
  package var protection: KeyProtection
  package var profiles: [AccountProfile]
  package var pendingRevocations: Int
  package var pendingOperations: Int

  /// `vault` is nil while it is locked. `grant` limits the answer to the accounts that it covers.
  package init(
    _ vault: OpenVault?, slots: [KeySlotRow], keySources: [any KeySource], within grant: EffectiveGrant?
  ) throws(AgentFailure) {
    isLocked = vault == nil
    isInitialized = !slots.isEmpty
    protection = Self.protection(by: slots, keySources)
    profiles = vault.map { Array($0.directory.profiles.values) } ?? []
    pendingRevocations = try vault?.outbox.entries(within: grant).count ?? 0
    pendingOperations =
      vault?.operationTallies.reduce(0) { $0 + (grant?.covers($1.key) ?? true ? $1.value.pending : 0) } ?? 0
    if let grant { profiles = profiles.filter { grant.covers($0.id) } }
  }

  /// A store is as well protected as by the weakest of its slots.
  private static func protection(by slots: [KeySlotRow], _ keySources: [any KeySource]) -> KeyProtection {
    let fromTheWeakest: [KeyProtection] = [.keyFile, .systemdCredential, .secretService, .passphrase]
    let there = Set(slots.map(\.protection))
    return fromTheWeakest.first { there.contains($0.rawValue) }
      ?? keySources.first.flatMap { KeyProtection(rawValue: $0.protection) } ?? .passphrase
  }
}
