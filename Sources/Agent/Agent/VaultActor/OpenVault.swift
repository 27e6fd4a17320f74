internal import AgentModel
internal import AgentOAuth
package import AgentPorts
package import AgentVault

/// The outside parts that the vault's own operations use.
package struct VaultDependencies: Sendable {
  package let clock: any AgentClock
  package let entropy: any Entropy
  /// The key sources that open a slot without a person, the one chosen at the start first.
  let keySources: [any KeySource]
  let tables: PublishedTables
}

/// The open vault: the sealed records, and the parts of them that memory holds. Owned by `VaultActor`.
///
/// Features read it and plan a `ChangeSet`; only `remember(_:)` changes memory, after the commit.
package final class OpenVault {
  let records: Vault
  let dependencies: VaultDependencies
  /// The number of this opening of the vault.
  let unlockGeneration: UInt64
  package private(set) var directory: VaultDirectory
  /// The slot that opened the vault; nil once it is removed.
  private(set) var openedSlot: Int?
  private(set) var inboxNumber: UInt64
  /// The operations of partitions whose accounts were asked for.
  private(set) var operationLists: [PartitionID: QueuedOperations] = [:]
  private(set) var operationTallies: [AccountID: OperationTally]

  package init(
    _ records: Vault, slot: Int, unlockGeneration: UInt64, dependencies: VaultDependencies
  ) throws(VaultFailure) {
    self.records = records
    self.dependencies = dependencies
    self.unlockGeneration = unlockGeneration
    directory = try VaultDirectory(of: records)
    openedSlot = slot
    inboxNumber = try records.inbox.number()
    operationTallies = try OperationTally.all(in: records)
  }

  package var clock: any AgentClock { dependencies.clock }
  package var entropy: any Entropy { dependencies.entropy }
  var tables: PublishedTables { dependencies.tables }
  package var time: TimeKeeper { dependencies.tables.time }

  /// Takes in a late answer while the vault is locked.
  var inbox: LockedInboxWriter { records.inbox.writer(of: inboxNumber) }

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

  // MARK: memory

  /// Applies changes to memory. Only `VaultActor` calls this, when the transaction is durable.
  func remember(_ changes: [MemoryChange]) {
    for change in changes { remember(change) }
  }

  private func remember(_ change: MemoryChange) {
    switch change {
    case .account(let profile):
      tables.decisions.withdraw(profile.id)
      tables.requestRoutes.forget(profile.id)
      let previous = directory.put(profile)
      if previous == nil || previous?.alias != profile.alias {
        tables.tokenCache.setAccount(profile.id, alias: profile.alias)
      }
    case .accountForgotten(let id):
      tables.decisions.withdraw(id)
      tables.requestRoutes.forget(id)
      directory.remove(id)
      tables.tokenCache.remove(id)
    case .active(let id):
      directory.setActive(id)
      tables.tokenCache.setActive(id)
    case .tokensWithdrawn(let id): tables.tokenCache.withdraw(id)
    case .stepUpEnded(let id): tables.stepUps.clear(id)
    case .provider(let provider, let place):
      directory.put(provider, at: place)
      tables.requestRoutes.forgetAll()
      tables.policyCache.setName(provider.configuration.policy, of: provider.configuration.name)
    case .providerRemoved(let name):
      directory.remove(name)
      tables.requestRoutes.forgetAll()
      tables.policyCache.setName(nil, of: name)
      tables.time.forget(name)
    case .policy(let document): tables.policyCache.put(document)
    case .sourceConfirmed(let bundled, let moment): tables.policyCache.sourceConfirmed(bundled, at: moment)
    case .callerGrant(let grant): tables.callerGrants.put(grant)
    case .callerGrantsEnded(let names): tables.callerGrants.remove(names)
    case .rule(let rule): directory.add(rule)
    case .ruleRemoved(let id): directory.removeRule(id)
    case .keySlotRemoved(let number): if openedSlot == number { openedSlot = nil }
    case .inboxNumber(let number): inboxNumber = number
    case .operations(let partition, let operations): operationLists[partition] = operations
    case .operationTally(let account, let tally): operationTallies[account] = tally
    }
  }
}
