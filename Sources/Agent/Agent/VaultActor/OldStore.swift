internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentVault
internal import Secrets

/// A store that is older than its anchor, and that the person accepts as the only one (docs/storage.md, Anchors).
struct OldStore {
  let records: Vault
  let dependencies: VaultDependencies

  /// Signs every account out as by a soft sign-out. No token of the copy is sent, not even to be revoked: at a provider
  /// that rotates tokens it was spent already, and sending it would end the tokens that came after it.
  ///
  /// One transaction, after which the store is newer than what the anchor knew.
  func disarm(above anchored: UInt64) throws(VaultFailure) {
    var changes: [VaultChange] = []
    // A record that does not open now must not open after a repair: its account answers `integrity` for good.
    var others = Set(try records.ledger().partitions)
    for profile in try profiles() {
      do throws(VaultFailure) {
        _ = try records.open(profile.partition)
      } catch .integrity {
        continue
      }
      others.remove(profile.partition)
      if profile.signInStatus == .signedIn { changes += try signingOut(profile) }
    }
    for (account, var tally) in try OperationTally.all(in: records).sorted(by: { $0.key < $1.key }) {
      tally.isDoubtful = true
      changes.append(tally.record(of: account))
    }
    changes += try records.readAll(.vault, .outbox).map { .delete(.vault, .outbox, id: $0.id) }
    changes += [
      .delete(.vault, .activeAccount), ErasureStore.note(nil, dependencies.entropy),
      dependencies.audited(.agentAcceptOldStore),
    ]
    try records.pass(anchored, closing: others)
    // The inbox of the locked vault is as old as the store.
    try records.apply(changes, with: [.deletePartition(.drops)])
  }

  private func signingOut(_ account: AccountProfile) throws(VaultFailure) -> [VaultChange] {
    var profile = account
    let isLocked = try records.isDataLocked(profile.partition)
    profile.epoch += 1
    profile.remember(GrantMemory(health: .signedOut))
    profile.signInStatus = .signedOutSoft
    profile.noteState(after: nil, at: dependencies.clock.wall())
    var changes: [VaultChange] = [.put(profile.partition, .profile, profile.record)]
    changes += SignOutStore.tokenRecords.map { .delete(profile.partition, $0) }
    if profile.hasStepUp, !isLocked {
      let operations = try operations(of: profile)
      changes += [.lockData(profile.partition)] + OperationTraces.putting(operations, of: profile.id)
    }
    return changes
  }

  /// In their order. None if one of them does not open: that must not keep the person from accepting the store, and the
  /// account answers `integrity` when its data is opened.
  private func operations(of profile: AccountProfile) throws(VaultFailure) -> [Operation] {
    do throws(VaultFailure) {
      return try records.readAll(profile.partition, .operation).compactMap { Operation($0.plain, id: $0.id) }
        .sorted { $0.sequence < $1.sequence }
    } catch .integrity {
      return []
    }
  }

  private func profiles() throws(VaultFailure) -> [AccountProfile] {
    var found: [AccountProfile] = []
    try records.forEachProfile { partition, plain in
      if let profile = plain.flatMap({ AccountProfile($0, partition: partition) }) { found.append(profile) }
    }
    return found
  }
}
