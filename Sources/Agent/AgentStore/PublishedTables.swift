/// What a feature publishes of the open vault to readers that must not wait for `VaultActor`. `AgentTables` lists them,
/// with parts that other features find by their type.
package protocol PublishedTable: AnyObject, Sendable {
  /// Reads what callers must not miss from the first answer on. No caller finds the vault open yet.
  func fill(from vault: OpenVault) throws
  /// From here on callers find the vault open.
  func open(_ vault: OpenVault)
  /// Drops what is known of the vault: it is locked, or its opening failed.
  func close()
  /// The agent ends: nothing is published any more.
  func end()
}

extension PublishedTable {
  package func fill(from vault: OpenVault) {}
  package func open(_ vault: OpenVault) {}
  package func close() {}
  package func end() {}
}

/// The published tables, one of each type. Filled at the opening, changed after each commit, emptied at the locking.
package struct PublishedTables: Sendable {
  /// In the order in which they are filled, opened and closed.
  package let inOrder: [any PublishedTable]
  private let byType: [ObjectIdentifier: any PublishedTable]

  package init(_ tables: [any PublishedTable]) {
    inOrder = tables
    byType = Dictionary(uniqueKeysWithValues: tables.map { (ObjectIdentifier(type(of: $0)), $0) })
  }

  package subscript<Table: PublishedTable>(type: Table.Type) -> Table {
    guard let table = byType[ObjectIdentifier(type)] as? Table else { fatalError("no table \(type) was listed") }
    return table
  }

  /// Before the vault is open: a failure closes all tables.
  func fill(from vault: OpenVault) throws {
    do {
      for table in inOrder { try table.fill(from: vault) }
    } catch {
      close()
      throw error
    }
  }

  func open(_ vault: OpenVault) {
    for table in inOrder { table.open(vault) }
  }

  func close() {
    for table in inOrder { table.close() }
  }

  func end() {
    for table in inOrder { table.end() }
  }
}
