internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// A store that is older than its anchor (docs/storage.md, Anchors), where the person says that there is no other.
extension VaultActor {
  /// Everybody is signed out as by a soft sign-out, and no token of the copy is sent anywhere, not even to be revoked:
  /// to a provider that rotates them each is one that was spent already, and would end what came after it.
  ///
  /// One transaction, after which the store is newer than what the anchor knew.
  func disarm(_ vault: Vault, above anchored: UInt64) throws(VaultFailure) {
    var changes: [VaultChange] = []
    // What does not open now must not open later, when somebody has mended it: its account says `integrity`, for good.
    var others = Set(try vault.ledger().partitions)
    for var profile in try profiles(in: vault) {
      do throws(VaultFailure) {
        _ = try vault.open(profile.partition)
      } catch .integrity {
        continue
      }
      others.remove(profile.partition)
      guard profile.signInStatus == .signedIn else { continue }
      let isLocked = try vault.isDataLocked(profile.partition)
      profile.epoch += 1
      profile.remember(GrantMemory(health: .signedOut))
      profile.signInStatus = .signedOutSoft
      profile.noteState(after: nil, at: clock.wall())
      changes.append(.put(profile.partition, .profile, profile.record))
      changes += [RecordKind.grant, .intent, .staged, .idToken, .accessTokens].map { .delete(profile.partition, $0) }
      if profile.hasStepUp, !isLocked { changes.append(.lockData(profile.partition)) }
    }
    changes += try vault.readAll(.vault, .outbox).map { .delete(.vault, .outbox, id: $0.id) }
    changes += [.delete(.vault, .activeAccount), wipePending(for: nil), audited(.agentAcceptOldStore)]
    try vault.pass(anchored, closing: others)
    // What came while the vault was locked is as old as the rest.
    try vault.apply(changes, with: [.deletePartition(.drops)])
  }

  private func profiles(in vault: Vault) throws(VaultFailure) -> [AccountProfile] {
    var found: [AccountProfile] = []
    try vault.forEachProfile { partition, plain in
      if let profile = plain.flatMap({ AccountProfile($0, partition: partition) }) { found.append(profile) }
    }
    return found
  }
}
