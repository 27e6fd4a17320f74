package import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentStore
package import AgentVault
internal import Secrets

extension DeclaredKind {
  /// The snapshot of the person's rights, from the provider's last report.
  package static let snapshot = DeclaredKind(12, under: .token)
}

extension OpenVault {
  package var rights: RightsStore { RightsStore(vault: self) }
}

/// The change of an account's rights by an answer.
package struct RightsChange: Sendable {
  package var rights: RightsMemory
  /// The snapshot says something else than before.
  package var isChanged: Bool
}

/// Snapshots on the disk. An answer is joined with what is known where that is kept: of two answers that come together
/// none is lost.
package struct RightsStore {
  let vault: OpenVault

  /// Joins an answer with what is known, for the transaction that keeps it. `instant` is nil where it is not known any
  /// more when the answer came. Nil if there is nothing to keep: of an account without rights, an undated update says
  /// nothing.
  func join(
    _ told: RightsUpdate, at instant: TrustedInstant?, of profile: AccountProfile
  ) throws(AgentFailure) -> (RightsChange, VaultChange)? {
    var rightsChange: RightsChange
    if let known = try known(of: profile) {
      rightsChange = RightsChange(rights: known, isChanged: false)
      rightsChange.isChanged = rightsChange.rights.apply(told, at: instant)
    } else if let instant = instant ?? profile.lastOnlineAuthAt {
      rightsChange = RightsChange(rights: RightsMemory(told, at: instant), isChanged: true)
    } else {
      return nil
    }
    return (rightsChange, .put(profile.partition, .snapshot, rightsChange.rights.record))
  }

  private func known(of profile: AccountProfile) throws(AgentFailure) -> RightsMemory? {
    try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
      try records.rights(in: profile.partition)
    }
  }

  /// Stores the rights that were fetched beside an exchange. Throws if the account has gone on: then nothing is kept.
  package func keep(
    _ told: RightsUpdate, sentAt: BootInstant, epoch: UInt64, of id: AccountID
  ) throws(AgentFailure) -> ChangeSet<RightsChange?> {
    try requireCurrent(id, epoch: epoch)
    guard let profile = vault.directory.current(id, epoch: epoch),
      let (rightsChange, change) = try join(
        told, at: vault.time.confirmed(by: profile.provider, sentAt: sentAt), of: profile)
    else { return .unchanged(nil) }
    return ChangeSet([change] + vault.trustedTime.changes, of: id, result: rightsChange)
  }

  /// The provider confirmed the account beside an exchange, and told `told` with that. Throws if the account has gone
  /// on: then nothing is kept.
  package func confirm(
    _ told: RightsUpdate?, sentAt: BootInstant, epoch: UInt64, of id: AccountID, confirms: Bool
  ) throws(AgentFailure) -> ChangeSet<(AccountProfile, RightsChange?)> {
    try requireCurrent(id, epoch: epoch)
    var profile = try vault.directory.signedIn(.id(id))
    let confirmed = vault.time.confirmed(by: profile.provider, sentAt: sentAt)
    var changes: [VaultChange] = []
    // An exchange that was sent later may have ended earlier.
    if confirms, let confirmed, confirmed.lived >= profile.lastOnlineAuthAt?.lived ?? .zero {
      profile.lastOnlineAuthAt = confirmed
      changes.append(.put(profile.partition, .profile, profile.record))
    }
    var rightsChange: RightsChange?
    if let told, let (news, change) = try join(told, at: confirmed, of: profile) {
      rightsChange = news
      changes.append(change)
    }
    return ChangeSet(
      changes + vault.trustedTime.changes, memory: [.account(profile)], of: id, result: (profile, rightsChange)
    ).onlyIntoFreeRoom
  }

  /// Throws if nothing of this epoch is wanted any more.
  package func requireCurrent(_ id: AccountID, epoch: UInt64) throws(AgentFailure) {
    guard vault.directory.current(id, epoch: epoch) != nil else {
      throw .token(.signedOut, id)
    }
  }
}

extension Vault {
  func rights(in partition: PartitionID) throws(VaultFailure) -> RightsMemory? {
    guard let plain = try read(partition, .snapshot) else { return nil }
    guard let rights = RightsMemory(plain) else { throw .integrity }
    return rights
  }
}
