internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import Secrets

/// Turns the token endpoint's answer into a durable account, for every flow. A part of `SignInCoordinator`, which knows
/// whether the sign-in still wants the answer.
struct SignInAdmission: Sendable {
  let dependencies: AccountDependencies
  let accounts: AccountDirectory
  let groups: AdmissionGroups

  /// A token endpoint's answer to a sign-in, and what was asked for.
  struct IssuedAnswer: Sendable {
    let body: Secret
    /// Nil if the request left in another boot: nothing tells how old the answer is.
    let sentAt: BootInstant?
    let nonce: IDTokenPolicy.Nonce
    let scopes: [String]
    var details: AuthorizationDetails?
    var authentication = RequestedAuthentication()
    /// The key of the proof that the request had.
    var deviceKey: DeviceKey?
    /// The account that is signed in again.
    var expected: AccountID?
    var alias: Alias?
    /// The import whose answer it is.
    var imported: StagedImport?
    /// It was found in the journal, and the caller is gone, or asks again.
    var isResumed = false
    /// The sign-in that asked; nil for an import, which no caller can cancel.
    var job: String?
    /// What holds revocations back since before the request was sent.
    let hold: RevocationHold

    init(
      _ body: Secret, _ sentAt: BootInstant, of job: SignInJob, nonce: IDTokenPolicy.Nonce, holding hold: RevocationHold
    ) {
      (self.body, self.sentAt, self.nonce, self.job, self.hold) = (body, sentAt, nonce, job.id, hold)
      (scopes, expected, alias) = (job.scopes, job.wishes.account, job.wishes.alias)
      (details, authentication, deviceKey) = (job.wishes.details, job.wishes.authentication, job.deviceKey)
    }

    init(
      of imported: StagedImport, _ sentAt: BootInstant?, isResumed: Bool, scopes: [String], holding hold: RevocationHold
    ) {
      (self.imported, self.sentAt, self.isResumed, self.scopes, self.hold) = (imported, sentAt, isResumed, scopes, hold)
      (body, alias, nonce) = (imported.body, imported.intent.alias, .unasked)
    }
  }

  /// Makes an account of the answer. If that fails, the tokens that were issued belong to no account and are revoked.
  func admit(
    _ answer: IssuedAnswer, _ client: ProviderClient, of signIns: isolated SignInCoordinator
  ) async throws(AgentFailure) -> Admitted {
    var person: IdentityProof.Person?
    var isStaged = answer.isResumed
    do throws(AgentFailure) {
      if let imported = answer.imported, !isStaged {
        try await groups.take(.stage(imported))
        isStaged = true
      }
      return try await admit(answer, client, &person, of: signIns)
    } catch {
      // Such a commit may have landed, and only the next start tells: the account may own the token then.
      if error.storeFailure == .inputOutput { throw error }
      if answer.isResumed, error.mayWait, signIns.mayWait(answer.imported) { throw error }
      let wasSpent = await disown(answer, isStaged: isStaged, at: client.provider, of: person?.identity, signIns)
      // The lock cancels sign-ins, also one that it overtakes here.
      if case .locked = error, answer.job != nil { throw .signIn(.cancelled) }
      guard answer.imported != nil, wasSpent else { throw error }
      throw .signIn(.importedTokenSpent(error))
    }
  }

  private func admit(
    _ answer: IssuedAnswer, _ client: ProviderClient, _ found: inout IdentityProof.Person?,
    of signIns: isolated SignInCoordinator
  ) async throws(AgentFailure) -> Admitted {
    guard
      let response = TokenResponse(body: answer.body, client.provider.scopeSeparators)?.usable(with: answer.deviceKey)
    else { throw .signIn(.notATokenResponse) }
    guard response.accessToken != nil else {
      if response.isBound, response.issuedAccessToken, answer.deviceKey == nil { throw .signIn(.boundUnasked) }
      throw .signIn(response.unknownTokenType.map { .unknownTokenType($0) } ?? .notATokenResponse)
    }
    let configuration = client.provider.configuration
    let deviceKey = response.isBound ? answer.deviceKey : nil
    if deviceKey == nil, client.provider.refusesBearerTokens { throw .signIn(.notBound) }
    // The answer told the time before its ID token is judged by it: a machine whose clock is hours off signs in all the
    // same. For a provider that never sent a `Date`, the wall clock counts.
    let now = issued(answer, by: dependencies.time.calendarTime(of: configuration.name), signIns.clock)
    var person: IdentityProof.Person
    do throws(IdentityFailure) {
      let proof = IdentityProof(
        client: client, now: now, device: deviceKey, keySets: dependencies.keySets,
        authentication: answer.authentication)
      person = try await proof.identify(response, nonce: answer.nonce, scopes: answer.scopes)
    } catch {
      throw .signIn(.identity(error))
    }
    await keepUnproven(&person, of: answer.expected, at: configuration.name)
    found = person
    for warning in person.warnings {
      dependencies.environment.log.log(.notice, "odd ID token", [(.reason, .name(warning.rawValue))])
    }
    // The last await before the sign-in is handed to its group (`AdmissionGroups`).
    if let ended = signIns.failureOfEnded(answer.job) { throw ended }
    var grant = GrantRecord(
      refreshToken: response.refreshToken ?? answer.imported?.imported, generation: 1, memory: GrantMemory(health: .ok),
      scopes: .granted(response.scope, orAsked: ScopeSet(answer.scopes)),
      refreshTokenExpiresAt: response.refreshTokenLifetime?.end.map { now + $0 })
    grant.verifiedIDToken = person.idToken.map(Fingerprint.of)
    grant.authTime = person.idToken.flatMap(IDTokenIdentity.read)?.authTime
    if person.idToken != nil, case .required(let nonce) = answer.nonce { grant.nonce = nonce }
    grant.deviceKey = deviceKey
    grant.cameFromElsewhere = answer.imported != nil
    grant.requestedDetails = answer.details
    // Without a word of the provider nothing shows that it knows them (RFC 9396 §7).
    grant.details = response.authorizationDetails.flatMap { $0.isEmpty ? nil : $0 }
    let token = answer.sentAt.flatMap {
      AccessToken(
        response, for: .standard, of: grant, sentAt: $0, clock: signIns.clock,
        highWater: dependencies.time.highWater(of: configuration.name))
    }
    var told = client.provider.rights(in: response, for: .standard, scopes: grant.scopes, source: .signIn)
    told.roles = told.roles ?? person.roles
    var admission = Admission(
      identity: person.identity, provider: configuration.name, issuedBy: client.provider.issuingClient,
      alias: answer.alias, displayName: person.displayName,
      email: person.email, grant: grant, idToken: person.idToken, tokens: AccessTokens(token.map { [$0] } ?? []),
      told: told, sentAt: answer.sentAt, imported: answer.imported,
      expected: answer.expected, covered: answer.imported?.intent.covered)
    admission.mayLackAlias = answer.isResumed
    let admitted = try await groups.admit(admission)
    await settle(admitted, rule: client.provider.refreshRule, idToken: person.idToken)
    await answer.hold.release(trying: person.identity)
    return admitted
  }

  /// The moment by which an answer is judged, and from which its lifetimes count. One out of the journal may have
  /// waited for a day: its ID token was good when it came.
  private func issued(_ answer: IssuedAnswer, by now: Timestamp, _ clock: any AgentClock) -> Timestamp {
    guard answer.isResumed, let imported = answer.imported else { return now }
    if let sentAt = answer.sentAt { return now + (sentAt - clock.boot()) }
    return min(now, imported.intent.request.wall)
  }

  /// Hands what is durable to the account's actor, tells it, and begins what waited for it.
  func settle(_ admitted: Admitted, rule: ProviderConfiguration.RefreshRule, idToken: Secret?) async {
    let account = accounts.account(admitted.profile.id)
    await account.signedIn(
      admitted.profile, admitted.grant, rule: rule, admitted.tokens.all.first, idToken: idToken,
      rights: admitted.rightsChange?.rights, unlockGeneration: admitted.unlockGeneration)
    tell(admitted)
    if let replaced = admitted.replaced { dependencies.later.revoke(replaced) }
    if admitted.profile.kind == .openid { await account.fetchRights() }
    dependencies.later.operationsMayGo(admitted.profile.id)
  }

  /// An account whose person nothing proves keeps its identity when the person names it, whatever the server says of the
  /// person this time (docs/providers.md, Plain OAuth servers).
  private func keepUnproven(
    _ person: inout IdentityProof.Person, of expected: AccountID?, at provider: ProviderName
  ) async {
    guard let expected, let profile = try? await dependencies.vault.profile(.id(expected)),
      profile.provider == provider, profile.identity.isUnproven
    else { return }
    person.identity = profile.identity
    person.idToken = nil
  }

  /// Puts a refresh token that was issued and that no account may have into the outbox, so that it does not live on
  /// without an owner. True if one was issued.
  ///
  /// A staged one stays in the journal while the vault is locked or takes nothing: this process puts it there later, and
  /// the next one goes on with the import.
  func disown(
    _ answer: IssuedAnswer, isStaged: Bool, at provider: Provider, of identity: Identity?,
    _ signIns: isolated SignInCoordinator
  ) async -> Bool {
    let imported = answer.imported
    // Where the provider does not rotate, it is the person's own still.
    guard let token = TokenResponse(body: answer.body)?.refreshToken, imported?.imported.equals(token) != true else {
      if let imported { await signIns.end(imported.intent, with: .end(imported.intent.id)) }
      return false
    }
    let (name, label) = (provider.configuration.name, answer.alias?.text ?? provider.configuration.name.text)
    let quarantine: @Sendable (OpenVault) throws(AgentFailure) -> ChangeSet<OutboxEntry?> = {
      vault throws(AgentFailure) in
      var changes = vault.outbox.quarantine(token, at: provider, of: identity, label: label)
      let journal = vault.imports.ending(imported?.intent.id)
      changes.records += journal.records
      changes.memory += journal.memory
      return changes
    }
    do throws(AgentFailure) {
      let entry: OutboxEntry??
      if isStaged {
        entry = try await dependencies.vault.commitIfOpen(quarantine)
        if entry == nil, let imported { signIns.disownLater(imported) }
      } else {
        entry = try await dependencies.vault.commit(
          orLeave: PendingRecord.unclaimed(token, at: name, provider, label: label), quarantine)
      }
      if let entry, let entry { dependencies.later.revoke(entry) }
    } catch {
      if isStaged, let imported {
        signIns.disownLater(imported)
        return true
      }
      // The disk is full: once, without a memory of it, unless that would end a login.
      let entry = try? await dependencies.vault.read { vault throws(AgentFailure) in
        vault.outbox.entry(forUnclaimed: token, at: provider, of: identity, label: "")
      }
      guard entry != nil else { return true }
      let client = dependencies.client(of: provider)
      dependencies.background.start { _ = await client.revoke(token, .refreshToken) }
    }
    return true
  }

  /// Where a revocation ends all that a person granted, it must come before the new tokens are made, or it would reach
  /// them too.
  func drainBeforeIssue(_ job: SignInJob) async {
    guard job.provider.configuration.revocationScope == .grant else { return }
    var expected: Identity?
    if let account = job.wishes.account {
      guard let profile = try? await dependencies.vault.profile(.id(account)) else { return }
      expected = profile.identity
    }
    await dependencies.later.drain(job.provider.issuingClient, expected)
  }

  /// Before a request that may bring a login: holds back what waits for this client.
  func hold(_ provider: Provider) async -> RevocationHold {
    RevocationHold(
      id: await dependencies.later.hold(provider.issuingClient), release: dependencies.later.release,
      background: dependencies.background)
  }

  private func tell(_ admitted: Admitted) {
    let profile = admitted.profile
    for entry in admitted.superseded {
      dependencies.events.publish(
        .revocationAbandoned(revocation: entry.name, issuer: entry.issuer, reason: "superseded"))
    }
    if admitted.isNew {
      dependencies.events.publish(
        .accountAdded(alias: profile.alias, provider: profile.provider, issuer: profile.identity.issuer),
        account: profile.id)
    } else if admitted.previousState != profile.restingState {
      let since = profile.stateSince.map { dependencies.time.wall($0, of: profile.provider) }
      dependencies.events.publish(
        .sessionStateChanged(profile.restingState, previous: admitted.previousState, since: since), account: profile.id)
    }
    if !admitted.isNew, let rightsChange = admitted.rightsChange, rightsChange.isChanged {
      dependencies.events.publish(.snapshotChanged(rightsChange.rights.snapshot), account: profile.id)
    }
    if admitted.becameActive {
      dependencies.events.publish(.accountSwitched(active: profile.id, previous: nil), account: profile.id)
    }
  }
}

extension AgentFailure {
  /// The same answer may make an account later. A page and a foreign server in place of a document may be the network's.
  fileprivate var mayWait: Bool {
    guard case .signIn(.identity(let failure)) = self else { return mayPass }
    guard let document = failure.document else { return false }
    if case .unavailable = document { return document.isTemporary }
    return true
  }
}
