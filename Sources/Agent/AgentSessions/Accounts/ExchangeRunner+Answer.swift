internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import Secrets

/// The steps of a run after the answer is stored: judges it, and commits the new grant or the failure.
extension ExchangeRunner {
  /// A sign-in without an ID token knew the address that all tenants share, and not the tenant's issuer.
  func issuersOfTenants(of account: isolated Account) async -> IssuerPattern? {
    guard let loaded = account.loaded, loaded.idTokenIdentity == nil,
      let ofAddress = IssuerPattern(sharedAddress: loaded.profile.identity.issuer)
    else { return nil }
    let name = loaded.profile.provider.text
    // Where the provider can't be read now, no session ends for it.
    guard let provider = try? await account.dependencies.vault.provider(named: name) else { return ofAddress }
    return provider.pattern
  }

  /// - Parameter tenants: the issuers that an ID token may name beside the account's.
  func judge(
    _ answer: ExchangeIntent, of account: isolated Account, _ data: inout RunData, _ tenants: IssuerPattern?
  ) -> ExchangeMachine.Judgement {
    guard let loaded = account.loaded,
      let response = answers[answer].flatMap({ TokenResponse(body: $0.body, loaded.machine.scopeSeparators) })
    else {
      return .unreadable
    }
    guard response.accessToken != nil || response.refreshToken != nil else { return .withoutTokens }
    if let change = loaded.identityChange(in: response.idToken, tenants) {
      return .anotherPerson(reason: change.rawValue)
    }
    var usable = response.usable(with: loaded.grant.deviceKey)
    // The sign-in asked for none, so that nothing is known that it could be compared with.
    if loaded.profile.identity.isUnproven { usable.idToken = nil }
    data.response = usable
    data.idToken = AccountIdentity.judge(usable.idToken, of: account)
    // One that must not be given out is not stored either.
    data.response?.idToken = data.idToken.stored?.secret
    return .usable
  }

  /// Stores the new grant before the callers are answered.
  func commit(
    _ answer: ExchangeIntent, of account: isolated Account, _ data: inout RunData
  ) async -> ExchangeMachine.Commitment {
    // An answer that an earlier run left: the provider may have sent no other refresh token.
    if data.refreshToken == nil { await readKept(of: account, &data) }
    if data.isUnreadable { return .storeFailed }
    guard let loaded = account.loaded, let response = data.response else { return .overtaken }
    var renewed = RenewedGrant(
      renewing: loaded, by: response, data.idToken, sent: data.refreshToken, for: answer, clock: account.clock,
      time: account.dependencies.time)
    do throws(AgentFailure) {
      let end = try await account.journal.finish(
        answer, grant: renewed.grant, bindingChanged: renewed.bindingChanged, answer: response,
        tokens: account.tokens.storable(with: renewed.accessToken, of: account))
      guard let end else { return .overtaken }
      (renewed.profile, renewed.rights) = (end.profile, end.rights)
      data.renewed = renewed
      return .durable
    } catch {
      if error.isLocked { return .vaultLocked }
      account.noteStoreError(error)
      return .storeFailed
    }
  }

  /// True if the answer's token is in memory now.
  func adopt(_ answer: ExchangeIntent, _ data: inout RunData, of account: isolated Account, takesToken: Bool) -> Bool {
    guard let renewed = data.renewed else { return false }
    account.loaded?.grant = renewed.grant
    account.loaded?.lastFailure = nil
    account.loaded?.storeError = nil
    account.rareParts.confirmer?.exchangeEnded()
    if let profile = renewed.profile { account.loaded?.profile = profile }
    AccountIdentity.adopt(data.idToken, for: answer.key, of: account)
    // Of the sign-in, if that had one: a later one may name a later sign-in of the person.
    if let token = data.idToken.stored, account.loaded?.idTokenIdentity == nil {
      account.loaded?.idTokenIdentity = token.identity
    }
    data.token = nil
    if takesToken, let token = renewed.accessToken, let provider = account.loaded?.profile.provider {
      data.token = account.tokens.take(token, boundTo: renewed.grant.deviceKey, from: provider, of: account)
    }
    return data.token != nil
  }

  /// Stores the effect of the failure before the callers are answered, so that the agent knows it after a crash.
  func settle(
    _ intent: ExchangeIntent?, _ failure: ExchangeFailure, _ attempt: UInt64, _ end: ExchangeMachine.JournalEnd,
    of account: isolated Account, _ data: inout RunData
  ) async {
    guard let loaded = account.loaded,
      // A request that fails alone leaves the grant as it was.
      intent != nil || !loaded.machine.failsAlone(failure, attempt: attempt, at: account.clock.boot())
    else { return }
    let jitter = account.dependencies.environment.entropy.fraction()
    data.jitter = jitter
    var machine = loaded.machine
    _ = machine.exchangeFailed(attempt: attempt, failure, at: account.clock.boot(), jitter: jitter)
    var failed = FailedExchange(machine, on: account.clock)
    failed.forgetsRefreshToken = data.isDisowned
    // If this fails the intent stays stored: after a crash the outcome counts as unknown, which is never less careful.
    let stored = try? await account.journal.settle(epoch: intent?.epoch ?? loaded.profile.epoch, failed, end: end)
    account.isStored(stored ?? nil)
  }
}

extension Account.Loaded {
  /// That the ID token of an answer names another issuer or another person: nil if it is this account's, or names none.
  /// Judged before the token is read otherwise.
  fileprivate func identityChange(in idToken: Secret?, _ tenants: IssuerPattern?) -> IDTokenFailure? {
    guard let idToken, !profile.identity.isUnproven else { return nil }
    let known = idTokenIdentity?.issuer ?? profile.identity.issuer
    return idToken.withBytes { IDTokenOwner(of: $0) }.change(
      fromIssuer: { equalCodePoints($0, known) || tenants?.covers($0) == true }, subject: profile.identity.subject)
  }
}

extension IDTokenIdentity {
  /// The identity in an ID token, in memory beside its account.
  init?(_ token: Secret, sharingTextsOf profile: AccountProfile) {
    guard let read = Self.read(token) else { return nil }
    self = read.sharingTexts(of: profile)
  }

  /// Its texts are mostly those of the account.
  func sharingTexts(of profile: AccountProfile) -> IDTokenIdentity {
    var shared = self
    shared.issuer = issuer.shared(with: profile.identity.issuer)
    shared.subject = subject.shared(with: profile.identity.subject)
    let clientID = profile.issuedBy.clientID
    shared.audiences = audiences.map { $0.shared(with: clientID) }
    shared.authorizedParty = authorizedParty?.shared(with: clientID)
    return shared
  }
}
