package import AgentPorts
package import AgentStore
package import AgentVault

/// The journal of imports in memory, without the answers, which hold tokens.
package final class ImportTable: VaultTable {
  private(set) var all: [[UInt8]: ImportIntent] = [:]
  /// The ids of records that do not open.
  private(set) var damaged: Set<[UInt8]> = []

  package init(reading records: Vault) throws(VaultFailure) {
    for (id, plain) in try records.readEach(.importJournal) {
      if let intent = plain.flatMap({ ImportIntent($0) }), intent.id == id {
        all[id] = intent
      } else {
        damaged.insert(id)
      }
    }
  }

  /// No token of an old copy is sent. What is left of an answer tells that its import must not be sent again.
  package static func disarming(
    _ records: Vault, closing closed: inout Set<PartitionID>, _ dependencies: VaultDependencies
  ) throws(VaultFailure) -> [VaultChange] {
    try records.readEach(.importJournal).map { id, plain in
      plain.flatMap { ImportIntent($0) }.map { .put(.vault, .importJournal, id: id, $0.record) }
        ?? .delete(.vault, .importJournal, id: id)
    }
  }

  fileprivate func put(_ intent: ImportIntent) { all[intent.id] = intent }

  fileprivate func remove(_ id: [UInt8]) {
    all[id] = nil
    damaged.remove(id)
  }
}

extension OpenVault {
  var importTable: ImportTable { self[ImportTable.self] }
}

extension MemoryChange {
  static func importPut(_ intent: ImportIntent) -> MemoryChange { MemoryChange { $0.importTable.put(intent) } }
  static func importRemoved(_ id: [UInt8]) -> MemoryChange { MemoryChange { $0.importTable.remove(id) } }
}
