internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// Signing out on the disk (docs/sign-out.md, Order): one transaction, before which the account is signed in, and
/// after which it is signed out and its token is either dead or in the outbox.
extension VaultActor {
  struct SignedOut: Sendable {
    var profile: AccountProfile
    var previousState: AccountState
    var provider: Provider?
    /// Nil if there was no refresh token.
    var entry: OutboxEntry?
    /// Access tokens that the refresh token's revocation does not reach.
    var others: [OutboxEntry]
    var idToken: Secret?
    /// Accounts whose last trace is gone now: this one, and what an earlier reader held up.
    var erased: [AccountID]
    var wasActive: Bool
  }

  /// `accessTokens` are those in memory, with their remaining lifetimes.
  func signOut(
    _ id: AccountID, _ mode: SignOutMode, accessTokens: [(token: Secret, lives: Milliseconds)] = []
  ) throws(AgentFailure) -> SignedOut {
    var profile = try profile(.id(id))
    // What a soft sign-out kept can still be erased; anything else was done already.
    guard profile.signInStatus == .signedIn || (profile.signInStatus == .signedOutSoft && mode == .hard) else {
      throw .signedOut(profile.id, during: .signOut)
    }
    let provider = providers[profile.provider]
    let previousState = tokenCache.state(of: id) ?? profile.restingState
    let loaded = try loadGrant(of: profile)
    // An answer that was staged and not judged yet holds the only token that lives.
    let staged = loaded?.staged.flatMap { TokenResponse(body: $0.body)?.refreshToken }
    var entry = (staged ?? loaded?.grant.refreshToken).map {
      outboxEntry(
        for: $0, profile,
        expiresAt: loaded?.grant.refreshTokenExpiresAt.map { time.wall($0, of: profile.provider) })
    }
    var others: [OutboxEntry] = []
    if provider?.configuration.revocationScope == .token, provider?.endpoints.revocation != nil {
      let now = time.now(for: profile.provider)
      for (token, lives) in accessTokens {
        var other = outboxEntry(for: token, profile, expiresAt: now + lives)
        other.kind = .accessToken
        others.append(other)
      }
    }
    if mode == .offline {
      // Sent when the way opens, or the agent starts; if neither happens, since it was open all along, in the end.
      entry?.nextAttemptAt = time.now(for: profile.provider) + RevocationOutbox.longest
      for index in others.indices { others[index].nextAttemptAt = others[index].createdAt + RevocationOutbox.longest }
    }
    let wasActive = active == id
    let old = profile.partition
    let underPIN = mode == .hard ? [] : try lockingData(of: profile)
    profile.epoch += 1
    profile.remember(GrantMemory(health: .signedOut))
    profile.signInStatus = mode == .hard ? .signedOutHard : .signedOutSoft
    profile.noteState(after: profiles[id]?.restingState, at: time.now(for: profile.provider))
    var changes: [VaultChange] = []
    changes += ((entry.map { [$0] } ?? []) + others).map { .put(.vault, .outbox, id: $0.id, $0.record) }
    if wasActive { changes.append(.delete(.vault, .activeAccount)) }
    if mode == .hard {
      profile.hasStepUp = false
      // A new incarnation remembers who it was; the keys of the old one go with its rows.
      profile.partition = PartitionID(bytes: entropy.bytes(PartitionID.byteCount))!
      changes += [.destroy(old), .put(profile.partition, .profile, profile.record), wipePending(for: id)]
    } else {
      changes += [.put(old, .profile, profile.record)]
      changes += [RecordKind.grant, .intent, .staged, .idToken, .accessTokens].map { .delete(old, $0) }
      changes += underPIN
    }
    changes.append(audited(.accountSignOut, account: id, .mode(mode.rawValue)))
    let all = changes + timeRecord
    withdrawalCount += 1
    try onVault(account: id) { (vault) throws(VaultFailure) in try vault.apply(all) }
    profiles[id] = profile
    if wasActive {
      active = nil
      tokenCache.setActive(nil)
    }
    tokenCache.withdraw(id)
    stepUps.clear(id)
    let erased = mode == .hard || !underPIN.isEmpty ? (try? finishErasures()) ?? [] : []
    return SignedOut(
      profile: profile, previousState: previousState, provider: provider, entry: entry, others: others,
      idToken: loaded?.idToken,
      erased: erased, wasActive: wasActive)
  }

  /// Removes the last trace of an account that is signed out. The accounts that are erased now: not this one, if a
  /// reader of the store holds it up.
  func forget(_ selector: AccountSelector) throws(AgentFailure) -> (AccountProfile, erased: [AccountID]) {
    let profile = try profile(selector)
    guard profile.signInStatus != .signedIn else {
      throw .invalidParameter("/account", expected: "an account that is signed out")
    }
    let changes: [VaultChange] = [
      .destroy(profile.partition), wipePending(for: profile.id), audited(.accountForget, account: profile.id),
    ]
    withdrawalCount += 1
    try onVault(account: profile.id) { (vault) throws(VaultFailure) in try vault.apply(changes) }
    profiles[profile.id] = nil
    tokenCache.remove(profile.id)
    return (profile, (try? finishErasures()) ?? [])
  }

  // MARK: outbox

  /// A token that came too late for its account: nobody may use it, so it is revoked.
  func quarantine(_ token: Secret, of id: AccountID) throws(AgentFailure) -> OutboxEntry? {
    guard vaultIsOpen else {
      try drop(.overtaken(token, of: id))
      return nil
    }
    let entry = entry(forOvertaken: token, of: id)
    if let entry { try save(entry) }
    return entry
  }

  func entry(forOvertaken token: Secret, of id: AccountID) -> OutboxEntry? {
    guard let profile = profiles[id] else { return nil }
    // Signed in again meanwhile: where a revocation ends the whole grant, it would end the new sign-in too.
    if profile.signInStatus == .signedIn, providers[profile.provider]?.configuration.revocationScope == .grant {
      return nil
    }
    return outboxEntry(for: token, profile, expiresAt: nil)
  }

  /// A token that came of a sign-in that made no account. Nil where it can't be revoked, or where that would end the
  /// grant of an account that is signed in.
  func quarantine(
    _ token: Secret, at provider: Provider, of identity: Identity?, label: String
  ) throws(AgentFailure) -> OutboxEntry? {
    guard vaultIsOpen else {
      try drop(.unclaimed(token, at: provider.configuration.name, label: label))
      return nil
    }
    let entry = entry(forUnclaimed: token, at: provider, of: identity, label: label)
    if let entry { try save(entry) }
    return entry
  }

  func entry(
    forUnclaimed token: Secret, at provider: Provider, of identity: Identity?, label: String
  ) -> OutboxEntry? {
    let configuration = provider.configuration
    guard provider.endpoints.revocation != nil else { return nil }
    if configuration.revocationScope == .grant {
      let isShared = profiles.values.contains {
        $0.provider == configuration.name && $0.signInStatus == .signedIn
          && (identity == nil || $0.identity == identity)
      }
      if isShared { return nil }
    }
    let now = time.now(for: configuration.name)
    return OutboxEntry(
      id: entropy.bytes(16), token: token, provider: configuration.name, issuer: configuration.issuer,
      accountLabel: label, identity: identity, now: now, expiresAt: now + RevocationOutbox.patience)
  }

  private func outboxEntry(for token: Secret, _ profile: AccountProfile, expiresAt: Timestamp?) -> OutboxEntry {
    let now = time.now(for: profile.provider)
    let patience = now + RevocationOutbox.patience
    return OutboxEntry(
      id: entropy.bytes(16), token: token, provider: profile.provider, issuer: profile.identity.issuer,
      accountLabel: profile.alias?.text ?? profile.id.text, identity: profile.identity, now: now,
      expiresAt: expiresAt.map { min($0, patience) } ?? patience)
  }

  /// Whose token it is; nil if nobody here has that name.
  func account(of entry: OutboxEntry) -> AccountID? {
    entry.identity.flatMap { profile(of: $0, at: entry.provider)?.id }
  }

  /// What the caller sees of it.
  func outbox(within grant: EffectiveGrant?) throws(AgentFailure) -> [OutboxEntry] {
    guard let grant else { return try outbox() }
    return try outbox().filter { account(of: $0).map(grant.covers) ?? false }
  }

  func outbox() throws(AgentFailure) -> [OutboxEntry] {
    try onVault { (vault) throws(VaultFailure) in
      var entries: [OutboxEntry] = []
      for (id, plain) in try vault.readAll(.vault, .outbox) {
        guard let entry = OutboxEntry(plain, id: id) else { throw .integrity }
        entries.append(entry)
      }
      return entries.sorted { ($0.createdAt, $0.name) < ($1.createdAt, $1.name) }
    }
  }

  /// What a new sign-in of this person takes out of the outbox: revocations that would end it, too.
  func superseded(by identity: Identity, at provider: ProviderName) throws(AgentFailure) -> [OutboxEntry] {
    guard providers[provider]?.configuration.revocationScope == .grant else { return [] }
    return try outbox().filter { $0.provider == provider && $0.identity == identity }
  }

  /// Remembers a try that failed; false if the entry is gone, since nobody wants it revoked any more.
  func reschedule(_ entry: OutboxEntry) throws(AgentFailure) -> Bool {
    let isThere = try onVault { (vault) throws(VaultFailure) in try vault.read(.vault, .outbox, id: entry.id) != nil }
    if isThere { try save(entry) }
    return isThere
  }

  func save(_ entry: OutboxEntry) throws(AgentFailure) {
    try onVault { (vault) throws(VaultFailure) in
      try vault.apply([.put(.vault, .outbox, id: entry.id, entry.record)])
    }
  }

  /// The token is shredded, not only unlisted.
  func remove(
    _ entry: OutboxEntry, _ event: AuditEntry.Event, reason: String? = nil
  ) throws(AgentFailure) {
    let account = entry.identity.flatMap { profile(of: $0, at: entry.provider) }?.id
    let audit =
      reason.map { audited(event, account: account, .issuer(entry.issuer), .reason($0)) }
      ?? audited(event, account: account, .issuer(entry.issuer))
    let changes: [VaultChange] = [.delete(.vault, .outbox, id: entry.id), wipePending(for: nil), audit]
    try onVault { (vault) throws(VaultFailure) in try vault.apply(changes) }
    _ = try? finishErasures()
  }
}
