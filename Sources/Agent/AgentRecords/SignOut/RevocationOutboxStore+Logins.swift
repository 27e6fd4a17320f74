package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentStore
package import AgentVault
internal import Secrets

/// No revocation that waits ends a login (docs/sign-out.md, Outbox). What would is never put into the outbox while the
/// login lives, leaves it in the transaction that makes the login, and is judged once more before it is sent
/// (`ProtectedLogin`).
extension RevocationOutboxStore {
  /// The entries that would end a login that comes to live, and the changes that remove them with it.
  package func superseded(
    by login: ProtectedLogin, of account: AccountID
  ) throws(AgentFailure) -> (entries: [OutboxEntry], changes: [VaultChange]) {
    let configured = providers(of: login.issuedBy)
    var found: [OutboxEntry] = []
    var digests = ErasedIdentity(login.identity, of: vault)
    for entry in try entries() {
      // Of another client's entries the token alone counts.
      let erased = entry.isOf(login.issuedBy) ? try digests.identity(at: entry.provider) : nil
      if login.isEnded(by: entry, configured, erased: erased) { found.append(entry) }
    }
    return (
      found,
      found.map { .delete(.vault, .outbox, id: $0.id) }
        + found.map {
          vault.audited(.revocationAbandoned, account: account, .reason("superseded"), .issuer($0.issuer))
        }
    )
  }

  /// The entries of this client, under any name of its provider; with `identity`, those that may be of this person.
  package func entries(of identity: Identity?, by client: IssuingClient) throws(AgentFailure) -> [OutboxEntry] {
    let ofClient = try entries().filter { $0.isOf(client) }
    guard let identity else { return ofClient }
    var digests = ErasedIdentity(identity, of: vault)
    var found: [OutboxEntry] = []
    for entry in ofClient {
      if entry.mayBe(of: identity, erased: try digests.identity(at: entry.provider)) { found.append(entry) }
    }
    return found
  }

  /// Before an entry is sent: the provider may have been configured anew since, or may have given an account the token
  /// that waits. A token that only the entry's own account has was given up by it.
  package func endsLoginNow(_ entry: OutboxEntry) -> Bool {
    let own = entry.identity.flatMap { vault.directory.namedProfile(of: $0, at: entry.provider) }
    return endsLogin(entry, givenUpBy: own?.id)
  }

  /// True if the entry's revocation would end an account that is signed in.
  ///
  /// - Parameters:
  ///   - leaving: an account that signs out now, or whose grant is replaced.
  ///   - giver: an account whose own token the entry may be, since it does not want it any more.
  func endsLogin(_ entry: OutboxEntry, leaving: AccountID? = nil, givenUpBy giver: AccountID? = nil) -> Bool {
    candidates(for: entry).contains { profile in
      guard profile.signInStatus == .signedIn, profile.id != leaving else { return false }
      let configured = providers(of: profile.issuedBy)
      var login = ProtectedLogin(
        identity: profile.identity, issuedBy: profile.issuedBy, tokens: [])
      // Without its grant first, which must be opened.
      if login.isEnded(by: entry, configured) { return true }
      // None of a grant that does not open: it can't be used either.
      guard let loaded = try? vault.journal.load(profile) else { return false }
      login.mayShareFamily = loaded.grant.cameFromElsewhere
      if profile.id != giver { login.tokens = loaded.heldTokens }
      return login.isEnded(by: entry, configured)
    }
  }

  /// The accounts of the entry's person under all providers. Where the identity says nothing of the person, all
  /// accounts of the client.
  private func candidates(for entry: OutboxEntry) -> [AccountProfile] {
    guard let identity = entry.identity, !identity.isUnproven, !identity.isOfSecret else {
      return vault.directory.profiles.values.filter { $0.signInStatus == .signedIn && entry.isOf($0.issuedBy) }
    }
    return vault.providerTable.all.keys.compactMap { vault.directory.namedProfile(of: identity, at: $0) }
  }

  private func providers(of client: IssuingClient) -> [Provider] {
    vault.providerTable.all.values.filter { $0.issuingClient.isClient(client.clientID, of: client.issuer) }
  }
}

extension LoadedGrant {
  fileprivate var heldTokens: [Secret] {
    [grant.refreshToken, livingRefreshToken].compactMap { $0 } + (tokens?.all.map(\.secret) ?? [])
  }
}

/// A person's identity in entries whose account was erased, which is another one at each provider.
private struct ErasedIdentity {
  private let identity: Identity
  private let vault: OpenVault
  private var known: [ProviderName: Identity] = [:]

  init(_ identity: Identity, of vault: OpenVault) { (self.identity, self.vault) = (identity, vault) }

  mutating func identity(at provider: ProviderName) throws(AgentFailure) -> Identity {
    if let known = known[provider] { return known }
    let erased = try vault.erased(identity, at: provider)
    known[provider] = erased
    return erased
  }
}
