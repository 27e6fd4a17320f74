internal import AgentModel
internal import AgentPermissions
package import AgentPorts
package import AgentStore
internal import AgentVault

/// Replaces the root key of the open vault (docs/storage.md, Rotation).
package enum VaultRotation {
  /// Begins a rotation: new records are sealed under a new root key from its return on; existing ones follow (`next`).
  /// A rotation under way continues. Returns the epoch of the new key.
  package static func begin(in owner: isolated VaultActor) throws(AgentFailure) -> UInt32 {
    let vault = try owner.unlocked()
    // Their key is that of the log.
    owner.endRepeats()
    guard let rotation = try vault.keySlots.rewrapped() else { return vault.records.keys.epoch }
    do throws(AgentFailure) {
      try vault.keySlots.begin(rotation)
    } catch {
      // The commit may have succeeded all the same: this vault may lack the store's current root key.
      if !vault.keySlots.wrapKnownRootKey { owner.lock(isCertain: false) }
      throw error
    }
    return rotation.keys.epoch
  }

  /// Rotates one more partition; nil if none was left: then the old root key is gone.
  package static func next(
    after last: PartitionID?, in owner: isolated VaultActor
  ) throws(AgentFailure) -> PartitionID? {
    try owner.unlocked().keySlots.rotateNext(after: last)
  }
}
