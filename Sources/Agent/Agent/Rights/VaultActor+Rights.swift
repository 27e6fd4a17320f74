internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// Snapshots on the disk. What is told is taken in where it is kept, within one actor: two answers that come together
/// are heard one after the other, and none is lost.
extension VaultActor {
  /// What an account's rights are after an answer.
  struct RightsChange: Sendable {
    var rights: RightsMemory
    /// The snapshot says something else than before.
    var isChanged: Bool
  }

  /// Joins an answer with what is known, for the transaction that keeps it. `instant` is nil where nobody knows any more
  /// when it came. Nil if there is nothing to keep: of an account that was never heard of, undated words say nothing.
  func hear(
    _ told: RightsUpdate, at instant: TrustedInstant?, of profile: AccountProfile
  ) throws(AgentFailure) -> (RightsChange, VaultChange)? {
    let known = try onVault(account: profile.id) { (vault) throws(VaultFailure) in
      try vault.rights(of: profile)
    }
    var heard: RightsChange
    if let known {
      heard = RightsChange(rights: known, isChanged: false)
      heard.isChanged = heard.rights.apply(told, at: instant)
    } else if let instant = instant ?? profile.lastOnlineAuthAt {
      heard = RightsChange(rights: RightsMemory(told, at: instant), isChanged: true)
    } else {
      return nil
    }
    return (heard, .put(profile.partition, .snapshot, heard.rights.record))
  }

  /// What was asked for beside an exchange, as one durable transaction. Of an account that has gone on, nothing is kept.
  func keep(
    _ told: RightsUpdate, sentAt: BootInstant, epoch: UInt64, of id: AccountID
  ) throws(AgentFailure) -> RightsChange? {
    if let gone = hasGone(id, since: epoch) { throw gone }
    guard let profile = current(id, epoch: epoch),
      let (heard, change) = try hear(told, at: time.confirmed(by: profile.provider, sentAt: sentAt), of: profile)
    else { return nil }
    let all = [change] + timeRecord
    try onVault(account: id) { (vault) throws(VaultFailure) in try vault.apply(all) }
    return heard
  }

  /// Why nothing of this epoch is wanted any more; nil if it is.
  func hasGone(_ id: AccountID, since epoch: UInt64) -> AgentFailure? {
    guard vaultIsOpen else { return .locked }
    return current(id, epoch: epoch) == nil ? AgentFailure.token(.signedOut, id) : nil
  }
}

extension Vault {
  func rights(of profile: AccountProfile) throws(VaultFailure) -> RightsMemory? {
    guard let plain = try read(profile.partition, .snapshot) else { return nil }
    guard let rights = RightsMemory(plain) else { throw .integrity }
    return rights
  }
}
