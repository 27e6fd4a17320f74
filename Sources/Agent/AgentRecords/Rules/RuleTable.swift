package import AgentPorts
package import AgentStore
package import AgentVault

/// The rules in memory.
package final class RuleTable: VaultTable {
  /// Oldest first.
  private(set) var all: [AccountRule] = []
  /// The ids of rules whose records do not open.
  package private(set) var damaged: Set<[UInt8]> = []

  package init(reading records: Vault) throws(VaultFailure) {
    for (id, plain) in try records.readEach(.rule) {
      guard let rule = plain.flatMap({ AccountRule($0, id: id) }) else {
        damaged.insert(id)
        continue
      }
      all.append(rule)
    }
    all.sort { ($0.createdAt, $0.name) < ($1.createdAt, $1.name) }
  }

  package static func disarming(
    _ records: Vault, closing closed: inout Set<PartitionID>, _ dependencies: VaultDependencies
  ) throws(VaultFailure) -> [VaultChange] { [] }

  fileprivate func add(_ rule: AccountRule) { all.append(rule) }

  fileprivate func remove(_ id: [UInt8]) {
    all.removeAll { $0.id == id }
    damaged.remove(id)
  }
}

extension OpenVault {
  package var ruleTable: RuleTable { self[RuleTable.self] }
}

extension MemoryChange {
  package static func rule(_ rule: AccountRule) -> MemoryChange { MemoryChange { $0.ruleTable.add(rule) } }
  static func ruleRemoved(_ id: [UInt8]) -> MemoryChange { MemoryChange { $0.ruleTable.remove(id) } }
}
