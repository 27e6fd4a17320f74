package import AgentModel
package import AgentPorts
package import AgentStore
package import AgentVault

/// What memory holds of the queued operations.
package final class OperationTable: VaultTable {
  /// The operations, in their order, of partitions whose accounts were asked for.
  private(set) var lists: [PartitionID: QueuedOperations] = [:]
  fileprivate(set) var tallies: [AccountID: OperationTally]

  package init(reading records: Vault) throws(VaultFailure) { tallies = try OperationTally.all(in: records) }

  /// What became of the operations meanwhile is not known.
  package static func disarming(
    _ records: Vault, closing closed: inout Set<PartitionID>, _ dependencies: VaultDependencies
  ) throws(VaultFailure) -> [VaultChange] {
    try OperationTally.all(in: records).sorted(by: { $0.key < $1.key }).map { account, tally in
      var tally = tally
      tally.isDoubtful = true
      return tally.record(of: account)
    }
  }

  /// Keeps what was read, or what is durable.
  func remember(_ operations: QueuedOperations?, of partition: PartitionID) { lists[partition] = operations }
}

extension OpenVault {
  var operationLists: [PartitionID: QueuedOperations] { self[OperationTable.self].lists }
  package var operationTallies: [AccountID: OperationTally] { self[OperationTable.self].tallies }
}

extension MemoryChange {
  /// All operations of a partition in their order; nil once it is gone.
  static func operations(_ partition: PartitionID, _ operations: QueuedOperations?) -> MemoryChange {
    MemoryChange { $0[OperationTable.self].remember(operations, of: partition) }
  }

  static func operationTally(_ account: AccountID, _ tally: OperationTally?) -> MemoryChange {
    MemoryChange { $0[OperationTable.self].tallies[account] = tally }
  }
}

extension OperationAttempts: PublishedTable {}

extension PublishedTables {
  var operationAttempts: OperationAttempts { self[OperationAttempts.self] }
}
