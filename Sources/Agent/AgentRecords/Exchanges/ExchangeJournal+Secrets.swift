package import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentStore
internal import AgentVault

/// What is stored of an account that holds a secret, beside the secret (docs/secrets.md).
extension ExchangeJournal {
  /// The provider stands by the account's secret. Nil if the account changed meanwhile.
  package func confirm(
    _ person: SecretOwner, epoch: UInt64, of id: AccountID
  ) throws(AgentFailure) -> ChangeSet<FinishedExchange?> {
    guard var profile = vault.directory.current(id, epoch: epoch), var grant = try load(profile)?.grant else {
      return .unchanged(nil)
    }
    profile.lastOnlineAuthAt = vault.time.confirmed(by: profile.provider, sentAt: person.sentAt)
    profile.displayName = person.displayName ?? profile.displayName
    profile.email = person.email ?? profile.email
    grant.memory = GrantMemory(health: .ok)
    let entry = note(grant.memory, in: &profile)
    var changes: [VaultChange] = [
      .put(profile.partition, .grant, grant.record), .put(profile.partition, .profile, profile.record),
    ]
    var rightsChange: RightsChange?
    if let (news, change) = try vault.rights.join(
      person.rights(source: .refresh), at: profile.lastOnlineAuthAt, of: profile)
    {
      rightsChange = news
      changes.append(change)
    }
    return ChangeSet(
      changes + entry + vault.trustedTime.changes, memory: [.account(profile)], of: id,
      result: FinishedExchange(profile: profile, rights: rightsChange))
  }

  /// Stores that a reminder was told. False if the account or its secret changed meanwhile, or if it was told before.
  package func remind(_ reminder: ExpiryReminder, of known: AccountProfile) throws(AgentFailure) -> ChangeSet<Bool> {
    guard var profile = vault.directory.current(known.id, epoch: known.epoch), profile.secret == known.secret else {
      return .unchanged(false)
    }
    profile.secret?.reminded = reminder
    return ChangeSet(
      [.put(profile.partition, .profile, profile.record)], memory: [.account(profile)], of: profile.id, result: true)
  }
}
