internal import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentStore
package import AgentVault
internal import Secrets

extension OpenVault {
  package var outbox: RevocationOutboxStore { RevocationOutboxStore(vault: self) }
}

/// The tokens that must still be revoked (docs/sign-out.md, Outbox).
package struct RevocationOutboxStore {
  let vault: OpenVault

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
  package func entries(of identity: Identity, at provider: ProviderName) throws(AgentFailure) -> [OutboxEntry] {
    let erased = try vault.erased(identity, at: provider)
    return try entries().filter { $0.provider == provider && ($0.identity == identity || $0.identity == erased) }
  }

  /// False once another copy of the store went on: what this one would revoke may be in use there, and a revocation of
  /// a spent token may end the tokens that came after it (docs/storage.md, Anchors).
  package func maySend() throws(AgentFailure) -> Bool {
    try vault.withRecords { (records) throws(VaultFailure) in try records.isNewest() }
  }

  /// The refresh tokens of a person's earlier grants that are still to be revoked.
  func refreshTokens(of identity: Identity, at provider: ProviderName) throws(AgentFailure) -> [OutboxEntry] {
    try entries(of: identity, at: provider).filter { $0.kind == .refreshToken }
  }

  // MARK: changes

  func putting(_ entry: OutboxEntry) -> VaultChange { .put(.vault, .outbox, id: entry.id, entry.record) }

  /// Stores a failed attempt; false if the entry is gone, since its revocation is not wanted any more.
  package func reschedule(_ entry: OutboxEntry) throws(AgentFailure) -> ChangeSet<Bool> {
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
  package func keeping(_ provider: Provider) throws(AgentFailure) -> [VaultChange] {
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
