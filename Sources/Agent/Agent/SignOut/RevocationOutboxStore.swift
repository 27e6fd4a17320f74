internal import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentPorts
internal import AgentVault
package import Secrets

extension OpenVault {
  package var outbox: RevocationOutboxStore { RevocationOutboxStore(vault: self) }
}

/// The tokens that must still be revoked (docs/sign-out.md, Outbox).
package struct RevocationOutboxStore {
  package let vault: OpenVault

  // MARK: queries

  /// The entries, oldest first; with `grant`, only those that it covers.
  package func entries(within grant: EffectiveGrant?) throws(AgentFailure) -> [OutboxEntry] {
    let all = try entries()
    guard let grant else { return all }
    return all.filter { account(of: $0).map(grant.covers) ?? false }
  }

  package func entries() throws(AgentFailure) -> [OutboxEntry] {
    try vault.withRecords { (records) throws(VaultFailure) in
      var entries: [OutboxEntry] = []
      for (id, plain) in try records.readAll(.vault, .outbox) {
        guard let entry = OutboxEntry(plain, id: id) else { throw .integrity }
        entries.append(entry)
      }
      return entries.sorted { ($0.createdAt, $0.name) < ($1.createdAt, $1.name) }
    }
  }

  /// The account of the token; nil if no account has that identity.
  package func account(of entry: OutboxEntry) -> AccountID? {
    entry.identity.flatMap { vault.directory.profile(of: $0, at: entry.provider)?.id }
  }

  /// The entries that a new sign-in of this person removes from the outbox: revocations that would end it, too.
  func superseded(by identity: Identity, at provider: ProviderName) throws(AgentFailure) -> [OutboxEntry] {
    guard vault.directory.providers[provider]?.configuration.revocationScope == .grant else { return [] }
    return try entries().filter { $0.provider == provider && $0.identity == identity }
  }

  // MARK: making entries

  /// An entry for a token of an account that is signed in or was just signed out.
  package func entry(for token: Secret, of profile: AccountProfile, expiresAt: Timestamp?) -> OutboxEntry {
    let now = vault.time.now(for: profile.provider)
    let patience = now + RevocationOutbox.patience
    return OutboxEntry(
      id: vault.entropy.bytes(16), token: token, provider: profile.provider, issuer: profile.identity.issuer,
      accountLabel: profile.alias?.text ?? profile.id.text, identity: profile.identity, now: now,
      expiresAt: expiresAt.map { min($0, patience) } ?? patience)
  }

  /// An entry for a refresh token that came too late for its account. Nil if there is no such account, or if the
  /// revocation would end the account's new sign-in.
  package func entry(forOvertaken token: Secret, of id: AccountID) -> OutboxEntry? {
    guard let profile = vault.directory.profiles[id] else { return nil }
    // The account signed in again meanwhile: a revocation that ends the whole grant would end the new sign-in, too.
    let scope = vault.directory.providers[profile.provider]?.configuration.revocationScope
    if profile.signInStatus == .signedIn, scope == .grant { return nil }
    return entry(for: token, of: profile, expiresAt: nil)
  }

  /// An entry for a token of a sign-in that created no account. Nil if the token can't be revoked, or if that would end
  /// the grant of a signed-in account.
  package func entry(
    forUnclaimed token: Secret, at provider: Provider, of identity: Identity?, label: String
  ) -> OutboxEntry? {
    let configuration = provider.configuration
    guard provider.endpoints.revocation != nil else { return nil }
    if configuration.revocationScope == .grant {
      let isShared = vault.directory.profiles.values.contains {
        $0.provider == configuration.name && $0.signInStatus == .signedIn
          && (identity == nil || $0.identity == identity)
      }
      if isShared { return nil }
    }
    let now = vault.time.now(for: configuration.name)
    return OutboxEntry(
      id: vault.entropy.bytes(16), token: token, provider: configuration.name, issuer: configuration.issuer,
      accountLabel: label, identity: identity, now: now, expiresAt: now + RevocationOutbox.patience)
  }

  // MARK: changes

  func putting(_ entry: OutboxEntry) -> VaultChange { .put(.vault, .outbox, id: entry.id, entry.record) }

  func save(_ entry: OutboxEntry) -> ChangeSet<Void> { ChangeSet([putting(entry)]) }

  /// Adds an entry for a token that came too late for its account: it must not be used, so it is revoked.
  func quarantine(_ token: Secret, of id: AccountID) -> ChangeSet<OutboxEntry?> {
    saving(entry(forOvertaken: token, of: id))
  }

  /// Adds an entry for a token of a sign-in that created no account.
  func quarantine(
    _ token: Secret, at provider: Provider, of identity: Identity?, label: String
  ) -> ChangeSet<OutboxEntry?> {
    saving(entry(forUnclaimed: token, at: provider, of: identity, label: label))
  }

  private func saving(_ entry: OutboxEntry?) -> ChangeSet<OutboxEntry?> {
    ChangeSet(entry.map { [putting($0)] } ?? [], result: entry)
  }

  /// Stores a failed attempt; false if the entry is gone, since its revocation is not wanted any more.
  func reschedule(_ entry: OutboxEntry) throws(AgentFailure) -> ChangeSet<Bool> {
    let isThere = try vault.withRecords { (records) throws(VaultFailure) in
      try records.read(.vault, .outbox, id: entry.id) != nil
    }
    return isThere ? ChangeSet([putting(entry)], result: true) : .unchanged(false)
  }

  /// Removes the entry and destroys its token.
  package func remove(_ entry: OutboxEntry, _ event: AuditEntry.Event, reason: String? = nil) -> ChangeSet<Void> {
    let account = account(of: entry)
    let audit =
      reason.map { vault.audited(event, account: account, .issuer(entry.issuer), .reason($0)) }
      ?? vault.audited(event, account: account, .issuer(entry.issuer))
    return ChangeSet([.delete(.vault, .outbox, id: entry.id), audit], erasing: .values)
  }
}
