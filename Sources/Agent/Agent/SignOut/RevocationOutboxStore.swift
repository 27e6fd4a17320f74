internal import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentStore
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
    guard let identity = entry.identity else { return nil }
    let erased = vault.directory.erasedProfiles(at: entry.provider).first { $0.identity == identity }
    return erased?.id ?? (try? vault.profile(of: identity, at: entry.provider))?.id
  }

  /// The entries of a person at a provider, also those whose account was erased.
  func entries(of identity: Identity, at provider: ProviderName) throws(AgentFailure) -> [OutboxEntry] {
    let erased = try vault.erased(identity, at: provider)
    return try entries().filter { $0.provider == provider && ($0.identity == identity || $0.identity == erased) }
  }

  /// The provider that an entry is sent to. As long as the same client is configured, it is the one of now, whose
  /// secret or endpoint may have changed; else the one that was configured when the entry was made. Nil if there is
  /// neither.
  func sender(of entry: OutboxEntry) throws(AgentFailure) -> Sender? {
    let live = vault.providerTable.all[entry.provider]
    guard let kept = entry.sender else {
      if live == nil, try vault.providers.isDamaged(entry.provider) { throw .provider(.damaged(nil)) }
      return live.map { Sender(provider: $0, isConfigured: true) }
    }
    if let live, live.mayRevoke(for: kept) {
      return Sender(provider: live, isConfigured: true)
    }
    return Sender(provider: kept, isConfigured: false)
  }

  /// False once another copy of the store went on: what this one would revoke may be in use there, and a revocation of
  /// a spent token may end the tokens that came after it (docs/storage.md, Anchors).
  func maySend() throws(AgentFailure) -> Bool {
    try vault.withRecords { (records) throws(VaultFailure) in try records.isNewest() }
  }

  /// A provider as `sender(of:)` finds it.
  struct Sender: Sendable {
    var provider: Provider
    var isConfigured: Bool
  }

  /// True while a configured provider is this client, or an entry must still be sent by it.
  func needs(_ client: Provider) throws(AgentFailure) -> Bool {
    let known = vault.providerTable.all.values.flatMap { [$0] + $0.former }
    if known.contains(where: { $0.isSameClient(as: client) }) { return true }
    return try entries().contains { $0.sender?.isSameClient(as: client) == true }
  }

  /// The refresh tokens of a person's earlier grants that are still to be revoked.
  func refreshTokens(of identity: Identity, at provider: ProviderName) throws(AgentFailure) -> [OutboxEntry] {
    try entries(of: identity, at: provider).filter { $0.kind == .refreshToken }
  }

  /// The entries that a new sign-in of this person removes from the outbox: revocations that would end it, too.
  func superseded(by identity: Identity, at provider: ProviderName) throws(AgentFailure) -> [OutboxEntry] {
    guard vault.providerTable.all[provider]?.configuration.revocationScope == .grant else { return [] }
    return try entries(of: identity, at: provider)
  }

  // MARK: making entries

  /// An entry for a token of an account that is signed in or was just signed out.
  package func entry(for token: Secret, of profile: AccountProfile, expiresAt: Timestamp?) -> OutboxEntry {
    let now = vault.time.now(for: profile.provider)
    let patience = now + RevocationOutbox.patience
    var entry = OutboxEntry(
      id: vault.entropy.bytes(16), token: token, provider: profile.provider, issuer: profile.identity.issuer,
      accountLabel: profile.alias?.text ?? profile.id.text, identity: profile.identity, now: now,
      expiresAt: expiresAt.map { min($0, patience) } ?? patience)
    entry.sender = vault.providers.issuer(of: profile)?.forRevocation
    return entry
  }

  /// The refresh token of a grant that a new sign-in of the same person replaces. Nil where its revocation would end
  /// the new grant, or the provider has none.
  func entry(forReplaced grant: LoadedGrant, of profile: AccountProfile, by successor: Secret?) -> OutboxEntry? {
    guard let provider = vault.providers.issuer(of: profile), provider.endpoints.revocation != nil,
      provider.configuration.revocationScope != .grant, let token = grant.livingRefreshToken
    else { return nil }
    // A provider may answer the second sign-in with the token of the first.
    if let successor, successor.equals(token) { return nil }
    return entry(for: token, of: profile, expiresAt: grant.grant.refreshTokenExpiresAt)
  }

  /// An entry for a refresh token that came too late for its account. Nil if its revocation would end the account's new
  /// sign-in, or if the account was forgotten and its provider is unknown.
  package func entry(forOvertaken token: Secret, of origin: TokenOrigin) -> OutboxEntry? {
    guard let profile = vault.directory.profiles[origin.account] else {
      return origin.provider.flatMap { entry(forForgotten: token, of: origin, at: $0) }
    }
    // The account signed in again meanwhile: a revocation that ends the whole grant would end the new sign-in, too.
    let scope = vault.providerTable.all[profile.provider]?.configuration.revocationScope
    if profile.signInStatus == .signedIn, scope == .grant { return nil }
    var late = entry(for: token, of: profile, expiresAt: nil)
    // The account may have signed in at another client meanwhile.
    late.sender = origin.provider?.forRevocation ?? late.sender
    return late
  }

  /// A refresh token of an account that was forgotten meanwhile: nothing readable of the person is kept with it.
  private func entry(forForgotten token: Secret, of origin: TokenOrigin, at provider: Provider) -> OutboxEntry? {
    var entry = entry(forUnclaimed: token, at: provider, of: origin.identity, label: origin.account.text)
    entry?.identity = try? vault.erased(origin.identity, at: provider.configuration.name)
    return entry
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
    var entry = OutboxEntry(
      id: vault.entropy.bytes(16), token: token, provider: configuration.name, issuer: configuration.issuer,
      accountLabel: label, identity: identity, now: now, expiresAt: now + RevocationOutbox.patience)
    entry.sender = provider.forRevocation
    return entry
  }

  // MARK: changes

  func putting(_ entry: OutboxEntry) -> VaultChange { .put(.vault, .outbox, id: entry.id, entry.record) }

  func save(_ entry: OutboxEntry) -> ChangeSet<Void> { ChangeSet([putting(entry)]) }

  /// Adds an entry for a token that came too late for its account: it must not be used, so it is revoked.
  func quarantine(_ token: Secret, of origin: TokenOrigin) -> ChangeSet<OutboxEntry?> {
    saving(entry(forOvertaken: token, of: origin))
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
    let plain = try vault.withRecords { (records) throws(VaultFailure) in
      try records.read(.vault, .outbox, id: entry.id)
    }
    // What else was changed while the request was on its way stays.
    guard var current = plain.flatMap({ OutboxEntry($0, id: entry.id) }) else { return .unchanged(false) }
    (current.attempts, current.isAnswered) = (entry.attempts, entry.isAnswered)
    current.nextAttemptAt = entry.nextAttemptAt
    (current.lastError, current.lastErrorAt) = (entry.lastError, entry.lastErrorAt)
    return ChangeSet([putting(current)], result: true)
  }

  /// For the transaction that erases an account: nothing readable of the person stays in the entries that wait.
  func erasing(_ identity: Identity, of profile: AccountProfile) throws(AgentFailure) -> [VaultChange] {
    let erased = try vault.erased(identity, at: profile.provider)
    return try entries(of: identity, at: profile.provider).map { entry in
      var entry = entry
      entry.erase(as: erased, of: profile.id)
      return putting(entry)
    }
  }

  /// Before a provider is removed or becomes another client: entries that were made while its record did not open keep
  /// what sends them.
  func keeping(_ provider: Provider) throws(AgentFailure) -> [VaultChange] {
    try entries().filter { $0.provider == provider.configuration.name && $0.sender == nil }.map {
      var entry = $0
      entry.sender = provider.forRevocation
      return putting(entry)
    }
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
