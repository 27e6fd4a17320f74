internal import AgentPorts
internal import AgentVault

/// A store that is older than its anchor, and that the person accepts as the only one (docs/storage.md, Anchors).
struct OldStore {
  let records: Vault
  let dependencies: VaultDependencies

  /// Takes from each feature's records what must not be used again, in one transaction after which the store is newer than
  /// what the anchor knew.
  func disarm(above anchored: UInt64) throws(VaultFailure) {
    var changes: [VaultChange] = []
    // A record that does not open now must not open after a repair: its account answers `integrity` for good.
    var closed = Set(try records.ledger().partitions)
    for table in dependencies.kept { changes += try table.disarming(records, closing: &closed, dependencies) }
    changes.append(ErasureStore.note(nil, dependencies.entropy))
    try records.pass(anchored, closing: closed)
    // The inbox of the locked vault is as old as the store.
    try records.apply(changes, with: [.deletePartition(.drops)])
  }
}
