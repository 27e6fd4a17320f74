internal import AgentCore
internal import AgentModel
package import AgentPorts
package import AgentStore
package import AgentVault

extension AccountTable {
  /// Signs every account out as by a soft sign-out. No token of an old copy is sent, not even to be revoked: at a provider
  /// that rotates tokens it was spent already, and sending it would end the tokens that came after it.
  package static func disarming(
    _ records: Vault, closing closed: inout Set<PartitionID>, _ dependencies: VaultDependencies
  ) throws(VaultFailure) -> [VaultChange] {
    var changes: [VaultChange] = []
    for profile in try profiles(in: records) {
      do throws(VaultFailure) {
        _ = try records.open(profile.partition)
      } catch .integrity {
        continue
      }
      closed.remove(profile.partition)
      if profile.signInStatus == .signedIn {
        changes += try signingOut(profile, in: records, at: dependencies.clock.wall())
      }
    }
    changes += try records.readAll(.vault, .outbox).map { .delete(.vault, .outbox, id: $0.id) }
    return changes + [.delete(.vault, .activeAccount), dependencies.audited(.agentAcceptOldStore)]
  }

  private static func signingOut(
    _ account: AccountProfile, in records: Vault, at now: Timestamp
  ) throws(VaultFailure) -> [VaultChange] {
    var profile = account
    let isLocked = try records.isDataLocked(profile.partition)
    profile.epoch += 1
    profile.remember(GrantMemory(health: .signedOut))
    profile.signInStatus = .signedOutSoft
    profile.noteState(after: nil, at: now)
    var changes: [VaultChange] = [.put(profile.partition, .profile, profile.record)]
    changes += records.kinds.untilSignOut.map { .delete(profile.partition, $0) }
    if profile.hasStepUp, !isLocked {
      let operations = try operations(of: profile, in: records)
      changes += [.lockData(profile.partition)] + OperationTraces.putting(operations, of: profile.id)
    }
    return changes
  }

  /// In their order. None if one of them does not open: that must not keep the person from accepting the store, and the
  /// account answers `integrity` when its data is opened.
  private static func operations(of profile: AccountProfile, in records: Vault) throws(VaultFailure) -> [Operation] {
    do throws(VaultFailure) {
      return try records.readAll(profile.partition, .operation).compactMap { Operation($0.plain, id: $0.id) }
        .sorted { $0.sequence < $1.sequence }
    } catch .integrity {
      return []
    }
  }

  private static func profiles(in records: Vault) throws(VaultFailure) -> [AccountProfile] {
    var found: [AccountProfile] = []
    try records.forEachPartition(by: .profile) { partition, plain in
      if let profile = plain.flatMap({ AccountProfile($0, partition: partition) }) { found.append(profile) }
    }
    return found
  }
}
