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
  package var issuedBy: IssuingClient
  package var alias: Alias?
  package var displayName: String?
  package var email: String?
  package var grant: GrantRecord
  package var idToken: Secret?
  package var tokens: AccessTokens
  /// The person's rights in the answers.
  package var told: RightsUpdate
  /// When the request left whose answer this is; nil if that was in another boot.
  package var sentAt: BootInstant?
  /// The import that brought it.
  package var imported: StagedImport?
  /// The account that the person said they are signing in again.
  package var expected: AccountID?
  /// The accounts of a limited caller: it adds none, and changes none but these.
  package var covered: Set<AccountID>?
  /// What the account holds.
  package var kind: AccountKind
  /// Of a secret.
  package var secret: AccountProfile.SecretFacts?
  /// The audit log's word for it.
  package var event: AuditEntry.Event
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
  /// True if a person had to be there. That is so for a new account, and for a sign-in at a provider that names the person. It is
  /// not for what a program has by itself: the secret that `token.get` gives out, a client, or a refresh token out of a backup.
  ///
  /// - Parameters:
  ///   - known: the account before; nil for a new one.
  ///   - held: its refresh token.
  fileprivate func shows(_ profile: AccountProfile, after known: AccountProfile?, _ held: Secret?) -> Bool {
    guard let known else { return true }
    guard profile.isProvenBySignIn else { return false }
    guard let imported else { return true }
    return known.importedToken != imported.intent.digest && held?.equals(imported.imported) != true
  }
}
