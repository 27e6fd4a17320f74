internal import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentStore
internal import AgentVault
package import Secrets

/// What the outbox says of providers, and what it takes of their tokens.
extension RevocationOutboxStore {
  // MARK: queries

  /// The provider that an entry is sent to. As long as the same client is configured, it is the one of now, whose
  /// secret or endpoint may have changed; else the one that was configured when the entry was made. Nil if there is
  /// neither.
  package func sender(of entry: OutboxEntry) throws(AgentFailure) -> Sender? {
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

  /// A provider as `sender(of:)` finds it.
  package struct Sender: Sendable {
    package var provider: Provider
    package var isConfigured: Bool
  }

  /// True while a configured provider is this client, or an entry must still be sent by it.
  package func needs(_ client: Provider) throws(AgentFailure) -> Bool {
    let known = vault.providerTable.all.values.flatMap { [$0] + $0.former }
    if known.contains(where: { $0.isSameClient(as: client) }) { return true }
    return try entries().contains { $0.sender?.isSameClient(as: client) == true }
  }

  // MARK: making entries

  /// An entry for a token of an account that is signed in or was just signed out.
  func entry(for token: Secret, of profile: AccountProfile, expiresAt: Timestamp?) -> OutboxEntry {
    let now = now(at: profile.provider)
    let patience = now.time + RevocationOutbox.patience
    var entry = OutboxEntry(
      id: vault.entropy.bytes(16), token: token, provider: profile.provider, issuer: profile.identity.issuer,
      accountLabel: profile.alias?.text ?? profile.id.text, identity: profile.identity, now: now,
      expiresAt: expiresAt.map { min($0, patience) } ?? patience)
    entry.sender = vault.providers.issuer(of: profile)?.forRevocation
    entry.username = profile.secret?.username
    return entry
  }

  /// The refresh token of a grant that a new sign-in of the same person replaces. Nil where its revocation would end
  /// the new login or another one, or the provider has none.
  ///
  /// - Parameter username: what goes with a secret.
  func entry(
    forReplaced grant: LoadedGrant, of profile: AccountProfile, by successor: ProtectedLogin, username: String? = nil
  ) -> OutboxEntry? {
    guard let provider = vault.providers.issuer(of: profile), provider.canRevoke, let token = grant.livingRefreshToken
    else { return nil }
    var entry = entry(for: token, of: profile, expiresAt: grant.grant.refreshTokenExpiresAt)
    entry.username = username
    let isInUse = successor.isEnded(by: entry, [provider]) || endsLogin(entry, leaving: profile.id)
    return isInUse ? nil : entry
  }

  /// An entry for a token that came too late for its account, or that is another person's. Nil if its revocation would
  /// end a login, or if the account was forgotten and its provider is unknown.
  func entry(forOvertaken token: OvertakenToken, of origin: TokenOrigin) -> OutboxEntry? {
    guard let profile = vault.directory.profiles[origin.account] else {
      return origin.provider.flatMap { entry(forForgotten: token, of: origin, at: $0) }
    }
    if token.kind == .accessToken, origin.provider?.canRevoke != true { return nil }
    var late = entry(for: token.secret, of: profile, expiresAt: token.expiresAt)
    late.kind = token.kind
    // The account may have signed in at another client meanwhile.
    late.sender = origin.provider?.forRevocation ?? late.sender
    var judged = late
    if token.isOfAnother {
      // The person whose token it is may have an account of their own.
      judged.identity = nil
    } else if profile.isErased {
      // None of the person's accounts elsewhere has the digest.
      judged.identity = origin.identity
    }
    return endsLogin(judged, givenUpBy: token.isOfAnother ? profile.id : nil) ? nil : late
  }

  /// A token of an account that was forgotten meanwhile: nothing readable of the person is kept with it.
  private func entry(forForgotten token: OvertakenToken, of origin: TokenOrigin, at provider: Provider) -> OutboxEntry?
  {
    var entry = entry(
      forUnclaimed: token.secret, at: provider, of: token.isOfAnother ? nil : origin.identity,
      label: origin.account.text)
    entry?.kind = token.kind
    if let end = token.expiresAt, let patience = entry?.expiresAt { entry?.expiresAt = min(end, patience) }
    entry?.identity = try? vault.erased(origin.identity, at: provider.configuration.name)
    return entry
  }

  /// An entry for a token of a sign-in that created no account. Nil if the token can't be revoked, or if that would end
  /// the login of an account.
  package func entry(
    forUnclaimed token: Secret, at provider: Provider, of identity: Identity?, label: String
  ) -> OutboxEntry? {
    let configuration = provider.configuration
    guard provider.canRevoke else { return nil }
    let now = now(at: configuration.name)
    var entry = OutboxEntry(
      id: vault.entropy.bytes(16), token: token, provider: configuration.name, issuer: configuration.issuer,
      accountLabel: label, identity: identity, now: now, expiresAt: now.time + RevocationOutbox.patience)
    entry.sender = provider.forRevocation
    // By the person's own identity: none of their accounts elsewhere has the digest.
    if endsLogin(entry) { return nil }
    if let identity, let profile = try? vault.profile(of: identity, at: configuration.name), profile.isErased {
      entry.erase(as: profile.identity, of: profile.id)
    }
    return entry
  }

  private func now(at provider: ProviderName) -> TrustedInstant {
    TrustedInstant(time: vault.time.now(for: provider), lived: vault.time.moment()?.lived ?? .zero)
  }

  // MARK: changes

  /// Adds an entry for a token that came too late for its account: it must not be used, so it is revoked.
  ///
  /// - Parameter staysOffline: its account was signed out offline, so that the revocation waits as that one's does.
  package func quarantine(
    _ token: OvertakenToken, of origin: TokenOrigin, staysOffline: Bool
  ) -> ChangeSet<OutboxEntry?> {
    var entry = entry(forOvertaken: token, of: origin)
    if staysOffline { entry?.postpone(jitter: vault.entropy.fraction()) }
    return saving(entry)
  }

  /// Adds an entry for a token of a sign-in that created no account.
  package func quarantine(
    _ token: Secret, at provider: Provider, of identity: Identity?, label: String
  ) -> ChangeSet<OutboxEntry?> {
    saving(entry(forUnclaimed: token, at: provider, of: identity, label: label))
  }

  private func saving(_ entry: OutboxEntry?) -> ChangeSet<OutboxEntry?> {
    ChangeSet(entry.map { [putting($0)] } ?? [], result: entry)
  }
}
