package import AgentModel
package import AgentPorts
package import AgentVault

/// The outside parts that the vault's own operations use.
package struct VaultDependencies: Sendable {
  package let clock: any AgentClock
  let entropy: any Entropy
  /// The protection chosen at the start, which a new vault gets: that of a key source, or `passphrase`, which has none.
  package let protection: String
  /// The key sources that open a slot without a person, the one chosen at the start first.
  package let keySources: [any KeySource]
  /// The kinds of records of the features.
  package let kinds: DeclaredKinds
  /// What the features keep in memory of an open vault.
  let kept: [any VaultTable.Type]
  /// What they publish of it.
  package let tables: PublishedTables
  /// What the features do around commits, openings and lockings.
  let watchers: [any VaultWatcher]
  let events: any EventPublishing
  /// Takes counted repeats into the log in the background, soon after the first one.
  let repeatsBegan: @Sendable () -> Void
  /// The rollback anchor does not take the store's counts any more.
  let anchorFellBehind: @Sendable () -> Void
  /// Tries an outstanding erasure again later.
  let erasureIsHeldUp: @Sendable (ErasureHoldUp, VaultActor) -> Void

  package init(
    clock: any AgentClock,
    entropy: any Entropy,
    protection: String,
    keySources: [any KeySource],
    kinds: DeclaredKinds,
    kept: [any VaultTable.Type],
    tables: PublishedTables,
    watchers: [any VaultWatcher],
    events: any EventPublishing,
    repeatsBegan: @escaping @Sendable () -> Void,
    anchorFellBehind: @escaping @Sendable () -> Void,
    erasureIsHeldUp: @escaping @Sendable (ErasureHoldUp, VaultActor) -> Void
  ) {
    self.clock = clock
    self.entropy = entropy
    self.protection = protection
    self.keySources = keySources
    self.kinds = kinds
    self.kept = kept
    self.tables = tables
    self.watchers = watchers
    self.events = events
    self.repeatsBegan = repeatsBegan
    self.anchorFellBehind = anchorFellBehind
    self.erasureIsHeldUp = erasureIsHeldUp
  }
}

/// The open vault: the sealed records, and the parts of them that memory holds. Owned by `VaultActor`.
///
/// Features read it and plan a `ChangeSet`; only the change set's `memory` changes memory, after the commit.
package final class OpenVault {
  package let records: Vault
  package let dependencies: VaultDependencies
  /// The number of this opening of the vault.
  package let unlockGeneration: UInt64
  /// The slot that opened the vault; nil once it is removed.
  package private(set) var openedSlot: Int?
  /// Which inbox takes in late answers while the vault is locked.
  package private(set) var inboxNumber: UInt64
  private let kept: VaultTables

  init(
    _ records: Vault, slot: Int, unlockGeneration: UInt64, dependencies: VaultDependencies
  ) throws(VaultFailure) {
    openedSlot = slot
    inboxNumber = try records.inbox.number()
    self.records = records
    self.dependencies = dependencies
    self.unlockGeneration = unlockGeneration
    kept = try VaultTables(dependencies.kept, reading: records)
  }

  package var clock: any AgentClock { dependencies.clock }
  package var entropy: any Entropy { dependencies.entropy }
  package var tables: PublishedTables { dependencies.tables }
  package var events: any EventPublishing { dependencies.events }

  /// The memory of a feature.
  package subscript<Table: VaultTable>(type: Table.Type) -> Table { kept[type] }

  /// Reads or commits sealed records. A failure names `account`.
  package func withRecords<Result>(
    of account: AccountID? = nil, _ body: (Vault) throws(VaultFailure) -> Result
  ) throws(AgentFailure) -> Result {
    do {
      return try body(records)
    } catch {
      throw AgentFailure(error, account: account)
    }
  }
}

extension OpenVault {
  /// Takes in a late answer while the vault is locked.
  var inbox: LockedInboxWriter { records.inbox.writer(of: inboxNumber) }

  fileprivate func removed(slot: Int) {
    if openedSlot == slot { openedSlot = nil }
  }

  fileprivate func begins(inbox number: UInt64) { inboxNumber = number }
}

extension MemoryChange {
  package static func keySlotRemoved(_ number: Int) -> MemoryChange { MemoryChange { $0.removed(slot: number) } }
  package static func inboxNumber(_ number: UInt64) -> MemoryChange { MemoryChange { $0.begins(inbox: number) } }
}
