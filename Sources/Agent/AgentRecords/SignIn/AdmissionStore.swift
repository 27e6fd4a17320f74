package import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentPorts
package import AgentStore
internal import AgentVault
package import Secrets

extension OpenVault {
  package var admissions: AdmissionStore { AdmissionStore(vault: self) }
}

extension VaultActor {
  /// What the account's last sign-in asked for in detail (RFC 9396). Nil also for a grant that does not open: a sign-in
  /// replaces it. Nil where the provider is another server or client now, which was not asked for them before.
  package func requestedDetails(of profile: AccountProfile) -> AuthorizationDetails? {
    guard let vault, !profile.isIssuedElsewhere, let loaded = try? vault.journal.load(profile) else { return nil }
    return loaded.grant.requestedDetails
  }
}

extension VaultActor {
  /// The scopes of a sign-in again that names none, for an account at a resource: those of the provider and those that
  /// the account has, since a resource asks for more of them step by step. Nil where the provider's are all.
  package func scopesToKeep(of profile: AccountProfile) -> [String]? {
    guard let vault, let provider = vault.providerTable.all[profile.provider],
      provider.configuration.identity == .resource, !profile.isIssuedElsewhere,
      let loaded = try? vault.journal.load(profile)
    else { return nil }
    return ScopeSet(provider.configuration.scopes + loaded.grant.scopes.names).names
  }

  /// The scopes of a sign-in again that asks for more: those of the provider, those that the account has, and these.
  package func scopes(of profile: AccountProfile, adding more: [String]) -> [String]? {
    guard let vault, let provider = vault.providerTable.all[profile.provider] else { return nil }
    let granted = (try? vault.journal.load(profile))?.grant.scopes.names ?? []
    return ScopeSet(provider.configuration.scopes + granted + more).names
  }
}

/// The records that a completed sign-in adds to the vault.
package struct Admission: Sendable {
  package var identity: Identity
  package var provider: ProviderName
  /// The client and the server that issued its tokens.
  var issuedBy: IssuingClient
  package var alias: Alias?
  /// The answer waited, and its caller is gone: an alias that another account took meanwhile is left out.
  package var mayLackAlias = false
  var displayName: String?
  var email: String?
  var grant: GrantRecord
  var idToken: Secret?
  var tokens: AccessTokens
  /// The person's rights in the answers.
  var told: RightsUpdate
  /// When the request left whose answer this is; nil if that was in another boot.
  var sentAt: BootInstant?
  /// The import that brought it.
  var imported: StagedImport?
  /// The account that the person said they are signing in again.
  var expected: AccountID?
  /// The accounts of a limited caller: it adds none, and changes none but these.
  var covered: Set<AccountID>?
  /// What the account holds.
  var kind: AccountKind
  /// Of a secret.
  var secret: AccountProfile.SecretFacts?
  /// The audit log's word for it.
  var event: AuditEntry.Event
  /// Who asked, for the audit log: the commit may run in another caller's task (`AdmissionGroups`).
  package var caller = Caller.current

  package init(
    identity: Identity, provider: ProviderName, issuedBy: IssuingClient, alias: Alias? = nil,
    displayName: String? = nil, email: String? = nil, grant: GrantRecord, idToken: Secret? = nil, tokens: AccessTokens,
    told: RightsUpdate, sentAt: BootInstant?, imported: StagedImport? = nil, expected: AccountID? = nil,
    covered: Set<AccountID>? = nil, kind: AccountKind = .openid, secret: AccountProfile.SecretFacts? = nil,
    event: AuditEntry.Event = .signIn, caller: Caller? = Caller.current
  ) {
    self.identity = identity
    self.provider = provider
    self.issuedBy = issuedBy
    self.alias = alias
    self.displayName = displayName
    self.email = email
    self.grant = grant
    self.idToken = idToken
    self.tokens = tokens
    self.told = told
    self.sentAt = sentAt
    self.imported = imported
    self.expected = expected
    self.covered = covered
    self.kind = kind
    self.secret = secret
    self.event = event
    self.caller = caller
  }
}

extension Admission {
  /// The login that it makes.
  fileprivate var login: ProtectedLogin {
    ProtectedLogin(
      identity: identity, issuedBy: issuedBy,
      tokens: [grant.refreshToken, imported?.imported].compactMap { $0 } + tokens.all.map(\.secret),
      mayShareFamily: grant.cameFromElsewhere)
  }
}

package struct Admitted: Sendable {
  package var profile: AccountProfile
  package var grant: GrantRecord
  package var tokens: AccessTokens
  package var rightsChange: RightsChange?
  package var isNew: Bool
  package var becameActive: Bool
  package var previousState: AccountState
  /// Revocations that were given up, since they would have ended this sign-in.
  package var superseded: [OutboxEntry]
  /// The refresh token that this sign-in replaced, to be revoked.
  package var replaced: OutboxEntry?
  /// In which opening of the vault this happened.
  package var unlockGeneration: UInt64
}

/// Completed sign-ins on the disk.
package struct AdmissionStore {
  let vault: OpenVault

  /// The disk takes writes, as far as that can be told before.
  package func requireWritable() throws(AgentFailure) {
    try vault.withRecords { (records) throws(VaultFailure) in try records.checkWritable() }
  }

  /// One durable transaction: the account is there with its grant, or nothing is. The same identity lands on the same
  /// account id, also after it was signed out.
  package func admit(_ admission: Admission) throws(AgentFailure) -> ChangeSet<Admitted> {
    // It may have been removed or replaced while the person signed in. Tokens of a client that is not known any more
    // could be neither used nor revoked.
    let live = try vault.providers.provider(named: admission.provider.text)
    guard live.issuer(of: admission.issuedBy) != nil else { throw .signIn(.cancelled) }
    let known = try known(admission)
    if let expected = admission.expected, known?.id != expected {
      // Throws `.accountNotFound` if the account was forgotten meanwhile.
      let named = try vault.directory.profile(.id(expected))
      throw .signIn(admission.secret == nil ? .otherPerson : .secretOfAnother(taker(admission, named)))
    }
    if let covered = admission.covered, known.map({ covered.contains($0.id) }) != true { throw .caller(.notCovered) }
    // The person signed out after the import began, as an answer to a refresh finds an account in another epoch.
    if let imported = admission.imported, try vault.imports.isOvertaken(imported.intent.id, by: admission.identity) {
      throw .signIn(.cancelled)
    }
    var admission = admission
    if let alias = admission.alias {
      do throws(AgentFailure) {
        try vault.directory.requireFree(alias, for: known?.id)
      } catch {
        guard admission.mayLackAlias else { throw error }
        admission.alias = nil
      }
    }
    let (profile, replaced) = profile(for: admission, known)
    var grant = admission.grant
    let previous = try? vault.journal.load(profile)
    if let previous { grant.generation = previous.grant.generation + 1 }
    let login = admission.login
    let revoked = known.flatMap { known in
      previous.flatMap {
        vault.outbox.entry(
          forReplaced: $0, of: admission.secret == nil ? known : profile, by: login, username: known.secret?.username)
      }
    }
    var tokens = admission.tokens
    tokens.belong(to: grant.generation)
    var changes: [VaultChange] = [
      .put(profile.partition, .profile, profile.record), .put(profile.partition, .grant, grant.record),
      .delete(profile.partition, .intent), .delete(profile.partition, .staged),
    ]
    let (forgotten, orphaned) =
      replaced.isEmpty
      ? forgettingDestroyed(of: profile, by: admission, known) : replacing(known, replaced)
    changes += forgotten
    let superseded = try vault.outbox.superseded(by: login, of: profile.id)
    changes += superseded.changes
    if let revoked { changes.append(vault.outbox.putting(revoked)) }
    changes.append(
      admission.idToken.map { .put(profile.partition, .idToken, $0) } ?? .delete(profile.partition, .idToken))
    changes.append(vault.journal.keeping(tokens, of: profile))
    let rightsChange = try vault.rights.join(admission.told, at: profile.lastOnlineAuthAt, of: profile)
    if let rightsChange { changes.append(rightsChange.1) }
    let becomesActive = vault.directory.active == nil
    if becomesActive { changes.append(AccountStore.activeRecord(profile.id)) }
    changes.append(
      vault.audited(admission.event, account: profile.id, .provider(profile.provider), .isNew(known == nil)))
    let journal = vault.imports.ending(admission.imported?.intent.id)
    let events = vault.events
    let admitted = Admitted(
      profile: profile, grant: grant, tokens: tokens, rightsChange: rightsChange?.0, isNew: known == nil,
      becameActive: becomesActive, previousState: state(of: known), superseded: superseded.entries, replaced: revoked,
      unlockGeneration: vault.unlockGeneration)
    return ChangeSet(
      changes + journal.records + vault.trustedTime.changes,
      memory: [.account(profile)] + (becomesActive ? [.active(profile.id)] : []) + orphaned.memory + journal.memory,
      of: profile.id
    ) { _ in
      orphaned.tell(events, of: profile.id)
      return admitted
    }
  }

  /// The account of the person who signs in. Where the provider names no person, it is the one that was named, whatever
  /// digest its new secret has, as long as that is no other account's. One that is signed out takes its own secret alone:
  /// no other one shows that it is of the person whose data was put away.
  private func known(_ admission: Admission) throws(AgentFailure) -> AccountProfile? {
    let known = try vault.profile(of: admission.identity, at: admission.provider)
    guard known == nil, admission.identity.isOfSecret, let expected = admission.expected else { return known }
    let named = try vault.directory.profile(.id(expected))
    return named.signInStatus == .signedIn ? named : nil
  }

  private func taker(_ admission: Admission, _ named: AccountProfile) -> SecretTaker {
    guard named.signInStatus != .signedIn else { return .signedIn }
    return admission.identity.isOfSecret ? .signedOutUnproven : .signedOut
  }

  private func forgettingDestroyed(
    of profile: AccountProfile, by admission: Admission, _ known: AccountProfile?
  ) -> ([VaultChange], OrphanedOperations) {
    guard admission.shows(profile, after: known) else { return ([], OrphanedOperations()) }
    return vault.stepUp.forgettingDestroyed(of: profile)
  }

  /// The operations of a damaged incarnation are lost: they count no more.
  private func replacing(_ known: AccountProfile?, _ replaced: [VaultChange]) -> ([VaultChange], OrphanedOperations) {
    guard let known else { return (replaced, OrphanedOperations()) }
    let orphaned = vault.operations.orphaning(known, into: nil)
    return (replaced + orphaned.records, orphaned)
  }

  private func state(of known: AccountProfile?) -> AccountState {
    known.map { vault.tables.tokenCache.session(of: $0).state } ?? .signedOut
  }

  /// The account as it is after this sign-in, and what goes of a damaged incarnation.
  private func profile(
    for admission: Admission, _ known: AccountProfile?
  ) -> (profile: AccountProfile, replaced: [VaultChange]) {
    var profile: AccountProfile
    if let known {
      profile = known
      profile.identify(as: admission.identity)
      profile.signInStatus = .signedIn
      profile.epoch += 1
    } else {
      profile = AccountProfile(
        id: AccountID(bytes: vault.entropy.bytes(AccountID.byteCount))!, partition: newPartition(),
        identity: admission.identity, provider: admission.provider, issuedBy: admission.issuedBy,
        createdAt: vault.time.now(for: admission.provider))
    }
    // A partition that was tampered with is not repaired: a new incarnation takes its place. So it does of data that was
    // put away for the same person, where nothing can prove that this is the same person.
    var replaced: [VaultChange] = []
    if let known, isDamaged(profile) || known.isSealedForGood {
      replaced = [.destroy(profile.partition)]
      profile.hasStepUp = false
      profile.partition = newPartition()
    }
    if var secret = admission.secret {
      secret.username = secret.username ?? profile.secret?.username
      secret.reminded = secret.expiresAt.flatMap {
        ExpiryReminder.passed($0, at: vault.time.calendarTime(of: profile.provider))
      }
      profile.secret = secret
    }
    profile.kind = admission.kind
    profile.alias = admission.alias ?? profile.alias
    profile.displayName = admission.displayName ?? profile.displayName
    profile.email = admission.email ?? profile.email
    profile.importedToken = admission.imported?.intent.digest ?? profile.importedToken
    if let sentAt = admission.sentAt {
      profile.lastOnlineAuthAt = vault.time.confirmed(by: profile.provider, sentAt: sentAt)
    }
    if admission.shows(profile, after: known) { profile.signedInAt = vault.time.moment() }
    profile.remember(GrantMemory(health: .ok))
    profile.tokenBinding = admission.grant.tokenBinding
    profile.issuedBy = admission.issuedBy
    // One text for all accounts, and not one for each.
    profile.identity.issuer = profile.identity.issuer.shared(with: admission.issuedBy.issuer)
    profile.isIssuedElsewhere = vault.providerTable.all[profile.provider]?.mayReceive(profile.issuedBy) == false
    profile.noteState(after: known.map { state(of: $0) }, at: vault.time.now(for: profile.provider))
    return (profile, replaced)
  }

  private func newPartition() -> PartitionID { PartitionID(bytes: vault.entropy.bytes(PartitionID.byteCount))! }

  private func isDamaged(_ profile: AccountProfile) -> Bool {
    do throws(VaultFailure) {
      _ = try vault.records.read(profile.partition, .grant)
      _ = try vault.records.rights(in: profile.partition)
      return false
    } catch {
      return error == .integrity
    }
  }
}

extension Admission {
  /// True if a person had to be there. That is so for a new account, and for a sign-in at a provider that names the person. It is
  /// not for what a program has by itself: the secret that `token.get` gives out, a client, or a refresh token out of a backup.
  ///
  /// - Parameter known: the account before; nil for a new one.
  fileprivate func shows(_ profile: AccountProfile, after known: AccountProfile?) -> Bool {
    known == nil || (imported == nil && profile.isProvenBySignIn)
  }
}
