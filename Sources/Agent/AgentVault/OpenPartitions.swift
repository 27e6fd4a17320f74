package import AgentPorts

/// The partitions whose heads and keys are in memory: the vault's own, and the accounts' that were used last. Another one
/// is opened again, and checked again. Ten thousand of them would take as much memory as their tokens.
package struct OpenPartitions {

  package init() {}
  /// More accounts than a person's programs use at once.
  package static let most = 256

  private var known: [PartitionID: Vault.Partition] = [:]
  /// The accounts' partitions in the order in which they were opened, as a ring. Some may have gone since.
  private var order: [PartitionID] = []
  private var next = 0

  package var all: [PartitionID] { Array(known.keys) }

  package subscript(partition: PartitionID) -> Vault.Partition? {
    get { known[partition] }
    set {
      let isNew = known.updateValue(newValue, for: partition)
      if isNew, partition != .vault { remember(partition) }
    }
  }

  private mutating func remember(_ partition: PartitionID) {
    guard order.count == Self.most else { return order.append(partition) }
    known[order[next]] = nil
    order[next] = partition
    next = (next + 1) % Self.most
  }
}

extension Dictionary {
  /// Sets or removes a value; true if it is there now and was not before.
  fileprivate mutating func updateValue(_ value: Value?, for key: Key) -> Bool {
    guard let value else {
      removeValue(forKey: key)
      return false
    }
    return updateValue(value, forKey: key) == nil
  }
}
