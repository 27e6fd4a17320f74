package import AgentPorts
package import Secrets

extension Vault {
  package var rotation: RootKeyRotation { RootKeyRotation(vault: self) }
}

/// A rotation of the root key (docs/storage.md, Rotation). One transaction begins it: the slots then wrap the new key,
/// and the old one is stored sealed under it. Then each partition is sealed again, in one transaction each, while
/// callers are served. It ends when none is left, and continues after a crash.
package struct RootKeyRotation {
  package let vault: Vault

  private static let metadataName = "rotation"

  package var isUnderWay: Bool { vault.seals.previousKeys != nil }

  /// On failure the vault is unchanged; after a commit with an unknown result it must be opened again.
  package func begin(
    to new: VaultKeys, slots: [KeySlotRow], notes: KeySlotNotes, writing entry: VaultChange
  ) throws(VaultFailure) {
    let old = vault.keys
    let indexKey = try vault.read(.vault, .indexKey) ?? old.index.secret
    var logKeys = try vault.audit.earlierLogKeys()
    logKeys[old.epoch] = old.log
    vault.adopt(new, previous: old)
    do throws(VaultFailure) {
      try vault.apply(
        [
          .put(.vault, .indexKey, indexKey), .put(.vault, .logKeys, SealedAuditLog.record(of: logKeys)),
          .put(.vault, .keySlotNotes, notes.record), entry,
        ],
        with: slots.map { .putKeySlot($0) } + [
          .putMetadata(
            name: Self.metadataName,
            value: new.root.derive("lanyard rotation").seal(
              old.root.secret, additionalData: Self.additionalData(vault.store, from: old.epoch, to: new.epoch)))
        ])
    } catch {
      vault.adopt(old, previous: nil)
      throw error
    }
    vault.rollbackGuard.settle(new, vault.store.databaseID)
  }

  /// The keys of partitions that a rotation has not reached yet; nil without a rotation under way.
  package static func previousKeys(
    in store: any Store, root: SealingKey, epoch: UInt32
  ) throws(VaultFailure) -> VaultKeys? {
    let sealed: [UInt8]?
    do throws(StoreFailure) { sealed = try store.metadata(metadataName) } catch { throw .store(error) }
    guard let sealed else { return nil }
    guard epoch > 1,
      let plain = try? root.derive("lanyard rotation").open(
        sealed, additionalData: additionalData(store, from: epoch - 1, to: epoch)),
      let previous = SealingKey(plain)
    else { throw .integrity }
    return VaultKeys(root: previous, epoch: epoch - 1)
  }

  /// Seals the next partition after `last` again; nil if none is left.
  ///
  /// A damaged partition stays as it is: requests for it fail with `integrity` under any key.
  package func next(after last: PartitionID?) throws(VaultFailure) -> PartitionID? {
    let all = try vault.onStore { () throws(StoreFailure) in try vault.store.partitions() }
    for partition in all where last.map({ $0 < partition }) ?? true {
      let epoch: UInt32
      do throws(VaultFailure) { epoch = try vault.open(partition).epoch } catch .integrity { continue }
      guard epoch != vault.keys.epoch else { continue }
      do throws(VaultFailure) { try vault.apply([.reseal(partition)]) } catch .integrity { continue }
      return partition
    }
    return nil
  }

  /// Ends the rotation: deletes the old root key.
  package func end() throws(VaultFailure) {
    try vault.apply([], with: [.deleteMetadata(name: Self.metadataName)])
    vault.adopt(vault.keys, previous: nil)
    _ = try vault.eraseDeleted()
  }

  private static func additionalData(_ store: any Store, from old: UInt32, to new: UInt32) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append("lanyard rotation 1")
    fields.append(store.databaseID)
    fields.append(UInt64(old))
    fields.append(UInt64(new))
    return fields.bytes
  }
}
