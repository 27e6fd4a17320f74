package import AgentPorts
package import Secrets

/// Reads of the store as a whole, for the start, backups and diagnosis.
extension Vault {
  /// Passes each partition's one record of a kind under the directory key to `body`, without opening the partitions, to
  /// fill the directory at the start. One at a time, so that ten thousand are never in guarded memory together. Nil stands
  /// for one that does not open; requests for its account fail with `integrity`.
  package func forEachPartition(by kind: DeclaredKind, _ body: (PartitionID, Secret?) -> Void) throws(VaultFailure) {
    let ledger = try ledger()
    var found = 0
    try onStore { () throws(StoreFailure) in
      try store.forEachRecord(of: kind.number) { row in
        let partition = row.key.partition
        // A row without a ledger entry was inserted or restored from outside; it is ignored. So is one with an id: a
        // partition has one.
        guard row.key.id.isEmpty, ledger.generation(of: partition) != nil else { return }
        found += 1
        body(partition, try? seals.open(directory: row))
      }
    }
    guard found < ledger.count else { return }
    var missing = Set(ledger.partitions)
    try onStore { () throws(StoreFailure) in
      try store.forEachRecord(of: kind.number) { row in if row.key.id.isEmpty { missing.remove(row.key.partition) } }
    }
    for partition in missing { body(partition, nil) }
  }

  /// The partitions that may have a record of this kind: none is opened, so that a row from outside counts, too.
  package func partitions(with kind: DeclaredKind) throws(VaultFailure) -> Set<PartitionID> {
    var found: Set<PartitionID> = []
    try onStore { () throws(StoreFailure) in
      try store.forEachRecord(of: kind.number) { found.insert($0.key.partition) }
    }
    return found
  }

  /// The ids that the head of a partition names, in order.
  func namedRecords(of kind: DeclaredKind, in partition: PartitionID) throws(VaultFailure) -> [[UInt8]] {
    try open(partition).head.generations.keys.filter { $0.kind == kind.number }.map(\.id)
      .sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// The kinds that the vault's own head names.
  func ownKinds() throws(VaultFailure) -> [DeclaredKind] {
    Set(try open(.vault).head.generations.keys.map(\.kind)).map { kinds[$0] }
  }

  /// The records of one kind as stored, compared with their head but not decrypted.
  func sealedRecords(_ partition: PartitionID, _ kind: DeclaredKind) throws(VaultFailure) -> [SealedRecord] {
    let head = try open(partition).head
    return try onStore { () throws(StoreFailure) in try store.records(in: partition, kind: kind.number) }
      .filter { head.generations[.init(kind: kind, id: $0.key.id)] == $0.generation }
  }

  /// Decrypts every record of an account as stored now. Records under the person's PIN are only compared with the head.
  package func check(_ partition: PartitionID) throws(VaultFailure) {
    let opened = try open(partition)
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: partition) }
      .filter { $0.key.kind != DeclaredKind.head.number }
    guard rows.count == opened.head.generations.count else { throw .integrity }
    for row in rows {
      guard opened.head.generations[.init(kind: row.key.kind, id: row.key.id)] == row.generation else {
        throw .integrity
      }
      let kind = kinds[row.key.kind]
      if kind.keyClass == .data, opened.keys?.data == nil { continue }
      _ = try seals.open(row, by: seals.key(of: kind, in: partition, opened))
    }
  }

  /// Opens a copy of this store, under the same keys and outside `VaultActor`.
  package var opensCopies: @Sendable (any Store) -> Vault {
    let (kinds, root, epoch, previous) = (kinds, keys.root, keys.epoch, seals.previousKeys)
    return { Vault(store: $0, kinds: kinds, root: root, epoch: epoch, previous: previous) }
  }
}
