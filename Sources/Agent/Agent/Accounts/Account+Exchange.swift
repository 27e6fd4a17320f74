package import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentVault
internal import Secrets

/// Performs what `ExchangeMachine` decides: the steps of a run, one at a time (docs/tokens.md, Journal).
/// `Account+ExchangeEffects.swift` performs the effects that need no wait.
///
/// The machine refers to an answer by its request. The bytes of the answer stay in `answers`, in guarded memory, until
/// they are no longer needed.
extension Account {
  /// The data that a run carries between its steps.
  struct RunData {
    var refreshToken: Secret?
    var response: TokenResponse?
    var renewed: RenewedGrant?
    /// The token that the run brought.
    var token: IssuedToken?
    /// The effects of `TokenMachine` to perform once the new token is published.
    var effects: [TokenMachine.Effect] = []
    /// The jitter of the pause after a failure: the same for the journal and for memory.
    var jitter: Double?
  }

  /// A grant after an answer renewed it.
  struct RenewedGrant {
    var grant: GrantRecord
    /// Nil if the answer brought no usable access token.
    var accessToken: AccessToken?
    /// Scopes that the answer took away.
    var lostScopes: [String]?
    /// The profile after the commit.
    var profile: AccountProfile?
    var rights: RightsChange?
    /// The provider's refresh rule, if the answer showed a new one.
    var rule: ProviderConfiguration.RefreshRule?
  }

  /// The token machine began an attempt.
  package func exchange(_ attempt: TokenMachine.Attempt) async {
    let run = dependencies.gate.ticket()
    perform(exchanges.begin(attempt, as: run))
    await carryOut(run)
  }

  /// The vault was locked: drops the memory; an answer that could not be stored goes to the inbox.
  func vaultWasLocked() async {
    release(.locked)
    let run = dependencies.gate.ticket()
    exchanges.vaultLocked(dropAs: run)
    await carryOut(run)
  }

  /// Hands the answer that could not be stored to a sign-out, since it holds the only live refresh token. Returns its
  /// entry for the outbox; nil without such an answer, or if an exchange is about to handle it.
  func surrender() async -> OutboxEntry? {
    guard let held = exchanges.surrender(), let answer = answers[held.nonce] else { return nil }
    wipeAnswers()
    guard let token = answer.refreshToken else { return nil }
    do {
      return try await quarantine(token, of: answer.origin)
    } catch {
      answers[held.nonce] = answer
      exchanges.takeBack(held)
      wipeAnswers()
      return nil
    }
  }

  /// A sign-in replaces the grant of an answer that could not be kept: its refresh token is revoked.
  func revokeHeldAnswer() {
    guard let held = exchanges.surrender(), let answer = answers[held.nonce], let token = answer.refreshToken else {
      return
    }
    dependencies.background.start { await self.revoke(token, of: answer.origin) }
  }

  // MARK: steps

  private func carryOut(_ run: ExchangeMachine.RunID) async {
    var data = RunData()
    while let step = exchanges.step(of: run) {
      let effects = await carryOut(step, of: run, &data)
      perform(effects, &data)
    }
  }

  private func carryOut(
    _ step: ExchangeMachine.Step, of run: ExchangeMachine.RunID, _ data: inout RunData
  ) async -> [ExchangeMachine.Effect] {
    switch step {
    case .revokeHeld(let answer):
      await revoke(answer)
      return exchanges.heldWasRevoked(run)
    case .queue:
      guard await mayBeAnswered() else { return exchanges.providerIsSilent(run) }
      let isAdmitted = await enterQueue(run)
      return exchanges.queued(run, isAdmitted: isAdmitted)
    case .prepare(let attempt): return exchanges.prepared(run, prepare(attempt, &data))
    // One call goes through these: it makes the connection, asks `mayLeave`, and sends.
    case .connect(let intent), .begin(let intent), .send(let intent), .withhold(let intent, _):
      let reply = await send(intent, of: run, data)
      return exchanges.sent(run, reply)
    case .stage(let answer):
      let staging = await stage(answer)
      return exchanges.staged(run, staging)
    case .judge(let answer): return exchanges.judged(run, judge(answer, &data))
    case .disown(let answer, _):
      await disown(answer)
      return exchanges.disowned(run)
    case .commit(let answer):
      let commitment = await commit(answer, &data)
      return exchanges.committed(run, commitment)
    case .adopt(_, let takesToken): return exchanges.adopted(run, hasToken: adopt(&data, takesToken: takesToken))
    case .settle(let intent, let failure, let attempt, let end):
      await settle(intent, failure, attempt, end, &data)
      return exchanges.settled(run)
    case .noteUnspent(let intent):
      try? await journal.noteUnspent(intent)
      return exchanges.unspentWasNoted(run)
    case .drop(let answer):
      let staging = await stage(answer)
      return exchanges.dropped(run, staging)
    case .revokeOvertaken(let answer):
      await revoke(answer)
      return exchanges.overtakenWasRevoked(run)
    case .end: return exchanges.ended(run)
    }
  }

  // MARK: the request

  /// The one replay is not spent on a provider that answers nothing now (docs/tokens.md, Unknown outcome).
  private func mayBeAnswered() async -> Bool {
    guard let loaded, loaded.machine.exchange?.isReplay == true else { return true }
    return await dependencies.gate.answers(loaded.profile.identity.issuer)
  }

  private func enterQueue(_ run: ExchangeMachine.RunID) async -> Bool {
    guard let loaded else { return false }
    return await dependencies.gate.enter(
      run, issuer: loaded.profile.identity.issuer, isWanted: loaded.machine.isWanted)
  }

  private func prepare(_ attempt: TokenMachine.Attempt, _ data: inout RunData) -> ExchangeMachine.Preparation {
    guard loaded?.machine.sending(attempt: attempt.number, at: clock.boot()) == true, let loaded else {
      return .graceElapsed
    }
    guard let refreshToken = loaded.grant.refreshToken else { return .noRefreshToken }
    data.refreshToken = refreshToken
    return .ready(
      ExchangeIntent(
        attempt: attempt.number, epoch: loaded.profile.epoch, generation: loaded.grant.generation,
        fingerprint: Fingerprint.of(refreshToken), wall: clock.wall(), bootID: clock.bootID, boot: clock.boot(),
        key: attempt.key, isReplay: attempt.isReplay,
        nonce: dependencies.environment.entropy.bytes(ExchangeIntent.nonceBytes)))
  }

  private func send(_ intent: ExchangeIntent, of run: ExchangeMachine.RunID, _ data: RunData) async
    -> ExchangeMachine.Reply
  {
    guard let profile = loaded?.profile, let refreshToken = data.refreshToken else {
      return .failed(.store)
    }
    let provider: Provider
    do throws(AgentFailure) {
      provider = try await dependencies.vault.provider(named: profile.provider.text)
    } catch {
      noteStoreError(error)
      return .failed(.store)
    }
    let answer = await dependencies.client(of: provider).refresh(refreshToken, key: intent.key) {
      await self.mayLeave(run)
    }
    noteSilence(answer, of: provider)
    switch answer {
    case .failed(let failure): return .failed(loaded?.machine.judged(failure) ?? failure)
    case .answered(let body, let sentAt):
      answers[intent.nonce] = ReceivedAnswer(body: body, origin: TokenOrigin(profile, provider))
      return .answered(sentAt: sentAt)
    }
  }

  /// The connection stands, and no byte of the request has left: the intent is written now, so that a crash before puts
  /// nothing in doubt. False if the request must not leave.
  private func mayLeave(_ run: ExchangeMachine.RunID) async -> Bool {
    let now = clock.boot()
    guard let attempt = exchanges.connected(run, at: now, wall: clock.wall()),
      case .begin(let intent)? = exchanges.step(of: run)
    else { return false }
    guard let current = loaded?.machine.exchange, current.number == attempt.number else {
      return exchanges.began(run, .overtaken)
    }
    guard loaded?.machine.sending(attempt: attempt.number, at: now) == true else {
      return exchanges.began(run, .graceElapsed)
    }
    do throws(AgentFailure) {
      let isDurable = try await journal.begin(intent)
      return exchanges.began(run, isDurable ? .durable : .overtaken)
    } catch {
      noteStoreError(error)
      return exchanges.began(run, .storeFailed)
    }
  }

  private func noteSilence(_ answer: ProviderClient.TokenAnswer, of provider: Provider) {
    guard let issuer = loaded?.profile.identity.issuer else { return }
    switch answer {
    case .failed(let failure) where failure.isSilence:
      let client = dependencies.client(of: provider)
      dependencies.gate.fellSilent(issuer) { await client.answers() }
    case .failed(.offline), .failed(.untrustedServer), .failed(.unknownOutcome), .failed(.store): break
    case .failed, .answered: dependencies.gate.heard(issuer)
    }
  }

  // MARK: the answer

  /// Stores the raw answer before it is read.
  private func stage(_ answer: ExchangeIntent) async -> ExchangeMachine.Staging {
    guard let received = answers[answer.nonce] else { return .storeFailed }
    do throws(AgentFailure) {
      switch try await journal.stage(received.body, for: answer, of: received.origin) {
      case .staged: return .staged
      case .dropped: return .dropped
      case .overtaken: return .overtaken
      }
    } catch {
      noteStoreError(error)
      return .storeFailed
    }
  }

  private func judge(_ answer: ExchangeIntent, _ data: inout RunData) -> ExchangeMachine.Judgement {
    guard let loaded, let response = answers[answer.nonce].flatMap({ TokenResponse(body: $0.body) }) else {
      return .unreadable
    }
    guard response.accessToken != nil || response.refreshToken != nil else { return .withoutTokens }
    if let change = change(in: response.idToken, of: loaded) { return .anotherPerson(reason: change.rawValue) }
    data.response = response
    return .usable
  }

  /// The first claim of a refreshed ID token that differs from the earlier one and must not (OpenID Connect Core
  /// §12.2); nil if the ID token is acceptable.
  private func change(in idToken: Secret?, of loaded: Loaded) -> IDTokenFailure? {
    guard let refreshed = idToken.flatMap(IDTokenIdentity.read) else { return nil }
    if refreshed.subject != loaded.profile.identity.subject { return .subjectChanged }
    return loaded.idTokenIdentity?.changes(in: refreshed).first
  }

  /// Stores the new grant before the callers are answered.
  private func commit(_ answer: ExchangeIntent, _ data: inout RunData) async -> ExchangeMachine.Commitment {
    guard let loaded, let response = data.response else { return .overtaken }
    var renewed = renewed(loaded, by: response, for: answer)
    do throws(AgentFailure) {
      let end = try await journal.finish(
        answer, grant: renewed.grant, answer: response, tokens: keepsake(with: renewed.accessToken))
      guard let end else { return .overtaken }
      (renewed.profile, renewed.rights, renewed.rule) = (end.profile, end.rights, end.rule)
      data.renewed = renewed
      return .durable
    } catch {
      if error.isLocked { return .vaultLocked }
      noteStoreError(error)
      return .storeFailed
    }
  }

  private func renewed(_ loaded: Loaded, by response: TokenResponse, for answer: ExchangeIntent) -> RenewedGrant {
    let now = dependencies.time.now(for: loaded.profile.provider)
    var grant = loaded.grant
    grant.refreshToken = response.refreshToken ?? grant.refreshToken
    grant.generation += 1
    grant.memory = GrantMemory(
      loaded.machine.memory(afterSuccessFor: answer.key), boot: clock.boot(), wall: clock.wall())
    if let lifetime = response.refreshTokenExpiresIn { grant.refreshTokenExpiresAt = now + lifetime }
    let lostScopes = answer.key == .standard ? grant.narrow(to: response.scope) : nil
    // An answer of an earlier boot has no trustworthy time: keep its refresh token, and refresh again.
    let isOfThisBoot = answer.bootID == clock.bootID
    let accessToken =
      isOfThisBoot
      ? AccessToken(response, for: answer.key, of: grant, sentAt: answer.boot, clock: clock, now: now) : nil
    return RenewedGrant(grant: grant, accessToken: accessToken, lostScopes: lostScopes)
  }

  /// True if the answer's token is in memory now.
  private func adopt(_ data: inout RunData, takesToken: Bool) -> Bool {
    guard let renewed = data.renewed else { return false }
    loaded?.grant = renewed.grant
    loaded?.lastFailure = nil
    loaded?.storeError = nil
    confirmation.lacksAnswer = nil
    if let profile = renewed.profile { loaded?.profile = profile }
    if let rule = renewed.rule { loaded?.machine.learned(rule) }
    data.token = takesToken ? renewed.accessToken.flatMap(take) : nil
    return data.token != nil
  }

  // MARK: failed attempts

  /// Stores the effect of the failure before the callers are answered, so that the agent knows it after a crash.
  private func settle(
    _ intent: ExchangeIntent, _ failure: ExchangeFailure, _ attempt: UInt64, _ end: ExchangeMachine.JournalEnd,
    _ data: inout RunData
  ) async {
    guard let loaded else { return }
    let jitter = dependencies.environment.entropy.fraction()
    data.jitter = jitter
    var (grant, machine) = (loaded.grant, loaded.machine)
    _ = machine.exchangeFailed(attempt: attempt, failure, at: clock.boot(), jitter: jitter)
    grant.memory = GrantMemory(machine.memory, boot: clock.boot(), wall: clock.wall())
    // If this fails the intent stays stored: after a crash the outcome counts as unknown, which is never less careful.
    try? await journal.settle(epoch: intent.epoch, grant: grant, end: end)
  }

  /// Records the store's error for the waiting callers.
  private func noteStoreError(_ error: AgentFailure) { loaded?.storeError = error.attributed(to: id) }

  // MARK: revocation

  /// Revokes the tokens of an answer for another identity, and the refresh token that was sent for it.
  private func disown(_ answer: ExchangeIntent) async {
    let spent = loaded?.grant.refreshToken
    let origin = answers[answer.nonce]?.origin
    await revoke(answer)
    if let spent, let origin { await revoke(spent, of: origin) }
  }

  private func revoke(_ answer: ExchangeIntent) async {
    guard let received = answers[answer.nonce], let token = received.refreshToken else { return }
    await revoke(token, of: received.origin)
  }

  private func revoke(_ token: Secret, of origin: TokenOrigin) async {
    if let entry = try? await quarantine(token, of: origin) { dependencies.revoke(entry) }
  }

  /// Puts a token that came too late into the outbox, or into the inbox while the vault is locked. Its entry; nil if
  /// there is none.
  private func quarantine(_ token: Secret, of origin: TokenOrigin) async throws(AgentFailure) -> OutboxEntry? {
    try await dependencies.vault.commit(orLeave: .overtaken(token, of: origin)) { vault throws(AgentFailure) in
      vault.outbox.quarantine(token, of: origin)
    } ?? nil
  }
}

extension GrantRecord {
  /// Applies a narrower `scope` of an answer (RFC 6749 §5.1). Returns the scopes that were lost; nil if none were.
  fileprivate mutating func narrow(to scope: ScopeSet?) -> [String]? {
    guard let scope, scope != scopes else { return nil }
    let lost = scopes.names.filter { !scope.names.contains($0) }
    scopes = scope
    lostScopes = ScopeSet((lostScopes.names + lost).filter { !scope.names.contains($0) })
    if !lost.isEmpty { isNarrowed = true }
    return lost.isEmpty ? nil : lost
  }
}
