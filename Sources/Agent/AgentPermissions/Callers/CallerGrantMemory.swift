package import AgentStore

extension PublishedTables {
  var callerGrants: CallerGrantTable { self[CallerGrantTable.self] }
}

extension CallerGrantTable: PublishedTable {
  package func fill(from vault: OpenVault) throws { fill(try vault.records.callerGrants()) }
}

extension MemoryChange {
  static func callerGrant(_ grant: CallerGrant) -> MemoryChange { MemoryChange { $0.tables.callerGrants.put(grant) } }

  static func callerGrantsEnded(_ names: Set<String>) -> MemoryChange {
    MemoryChange { $0.tables.callerGrants.remove(names) }
  }
}
