internal import AgentModel
package import AgentPorts
package import AgentVault

/// The outside parts that the vault's own operations use.
package struct VaultDependencies: Sendable {
  package let clock: any AgentClock
  package let entropy: any Entropy
  /// The key sources that open a slot without a person, the one chosen at the start first.
  let keySources: [any KeySource]
  /// What the features keep in memory of an open vault.
  let kept: [any VaultTable.Type]
  /// What they publish of it.
  let tables: PublishedTables
  /// What the features do around commits, openings and lockings.
  let watchers: [any VaultWatcher]
  let events: any EventPublishing
  /// Takes counted repeats into the log in the background, soon after the first one.
  let repeatsBegan: @Sendable () -> Void
}

/// The open vault: the sealed records, and the parts of them that memory holds. Owned by `VaultActor`.
///
/// Features read it and plan a `ChangeSet`; only the change set's `memory` changes memory, after the commit.
package final class OpenVault {
  let records: Vault
  let dependencies: VaultDependencies
  /// The number of this opening of the vault.
  let unlockGeneration: UInt64
  private let kept: VaultTables

  package init(
    _ records: Vault, unlockGeneration: UInt64, dependencies: VaultDependencies
  ) throws(VaultFailure) {
    self.records = records
    self.dependencies = dependencies
    self.unlockGeneration = unlockGeneration
    kept = try VaultTables(dependencies.kept, reading: records)
  }

  package var clock: any AgentClock { dependencies.clock }
  package var entropy: any Entropy { dependencies.entropy }
  var tables: PublishedTables { dependencies.tables }
  var events: any EventPublishing { dependencies.events }

  /// The memory of a feature.
  subscript<Table: VaultTable>(type: Table.Type) -> Table { kept[type] }

  /// Reads or commits sealed records. A failure names `account`.
  func withRecords<Result>(
    of account: AccountID? = nil, _ body: (Vault) throws(VaultFailure) -> Result
  ) throws(AgentFailure) -> Result {
    do {
      return try body(records)
    } catch {
      throw AgentFailure(error, account: account)
    }
  }
}
