package import AgentPorts
package import AgentVault

/// What a feature keeps in memory of the open vault: read when the vault opens, gone when it is locked. What the store
/// says changes it only by the `memory` of a change set. `AgentTables` lists them.
package protocol VaultTable: AnyObject, SendableMetatype {
  /// Reads the feature's records. A failure refuses the opening: for a record that answers for itself there is none.
  init(reading records: Vault) throws(VaultFailure)

  /// What changes in an old copy of a store before it may be used (`OldStore`). Without a default, so that no feature
  /// forgets it.
  ///
  /// - Parameter closed: the partitions that will not open any more. The feature that knows one takes it out.
  static func disarming(
    _ records: Vault, closing closed: inout Set<PartitionID>, _ dependencies: VaultDependencies
  ) throws(VaultFailure) -> [VaultChange]
}

/// The tables of an open vault, one of each type.
struct VaultTables {
  private var tables: [ObjectIdentifier: any VaultTable] = [:]

  init(_ types: [any VaultTable.Type], reading records: Vault) throws(VaultFailure) {
    for type in types { tables[ObjectIdentifier(type)] = try type.init(reading: records) }
  }

  subscript<Table: VaultTable>(type: Table.Type) -> Table {
    guard let table = tables[ObjectIdentifier(type)] as? Table else { fatalError("no table \(type) was listed") }
    return table
  }
}
