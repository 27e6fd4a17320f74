internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// One refresh, in the journal's order: intent, send once, stage, validate, commit, answer (docs/tokens.md, Journal).
///
/// After each await the world may have changed: the attempt is looked up again, and a stale one changes nothing.
extension Account {
  /// An exchange that is being carried out. It outlives a locking of the vault: the attempt that begins after the
  /// unlocking waits for it, and is ended by it.
  struct Run: Equatable {
    var number: UInt64
    var key: TokenKey
    var startedAt: BootInstant
    /// Its place in line.
    var ticket: ExchangeGate.Ticket
  }

  /// What a request came to while the vault was locked, so that the journal could not be told.
  struct UnreportedOutcome {
    var intent: ExchangeIntent
    /// Nil if nothing was sent.
    var failure: ExchangeFailure?
  }

  func exchange(_ attempt: TokenMachine.Attempt) async {
    guard let start = loaded, start.machine.exchange == attempt, currentExchange == nil else { return }
    runs += 1
    let run = Run(
      number: runs, key: attempt.key, startedAt: attempt.startedAt, ticket: dependencies.gate.ticket())
    currentExchange = run
    await carryOut(run, issuer: start.profile.identity.issuer)
    end(run)
  }

  private func end(_ run: Run) {
    guard currentExchange == run else { return }  // a sign-in took its place
    currentExchange = nil
    if loaded == nil { replacements += 1 }  // who is loading has read what was before
    // An attempt that began meanwhile has waited for the end of this one.
    if let waiting = loaded?.machine.exchange { dependencies.background.start { await self.exchange(waiting) } }
    watchRenewal()
  }

  /// What is in the agent's own hands needs no place in line; whatever is sent does.
  private func carryOut(_ run: Run, issuer: String) async {
    if let held = pendingResponse {
      // An answer that came earlier is kept before anything new is asked: the token in it is the only one that lives.
      if held.intent.epoch == loaded?.profile.epoch { return await keep(held, run) }
      // Somebody signed in since: it is nobody's any more.
      pendingResponse = nil
      await quarantine(held)
    }
    if let ended = unreportedOutcome {
      unreportedOutcome = nil
      if let failure = ended.failure { return await fail(run, failure, intent: ended.intent) }
    }
    let isWanted = loaded?.machine.isWanted ?? false
    guard await dependencies.gate.enter(run.ticket, issuer: issuer, isWanted: isWanted) else { return }
    defer { dependencies.gate.leave(run.ticket) }
    guard let attempt = current(run), let start = loaded else { return }
    await send(run, start, attempt)
  }

  private func send(_ run: Run, _ start: Loaded, _ attempt: TokenMachine.Attempt) async {
    guard loaded?.machine.sending(attempt: attempt.number, at: clock.boot()) == true else {
      // In line until the provider no longer forgives a second use.
      return await fail(run, .unknownOutcome("graceElapsed"), intent: nil)
    }
    guard let refreshToken = start.grant.refreshToken else {
      return await fail(run, .reauthenticate(reason: "noRefreshToken"), intent: nil)
    }
    let intent = ExchangeIntent(
      attempt: attempt.number, epoch: start.profile.epoch, generation: start.grant.generation,
      fingerprint: Fingerprint.of(refreshToken), wall: clock.wall(), bootID: clock.bootID, boot: clock.boot(),
      key: attempt.key, isReplay: attempt.isReplay,
      nonce: dependencies.environment.entropy.bytes(ExchangeIntent.nonceBytes))
    let provider: Provider
    do {
      provider = try await dependencies.vault.provider(named: start.profile.provider.text)
      guard try await dependencies.vault.begin(intent, of: id) else { return }
    } catch {
      return await fail(run, store: error)
    }
    guard current(run, epoch: intent.epoch) != nil else {
      if loaded == nil { await leave(nil, intent) }
      return
    }
    let client = dependencies.client(of: provider)
    switch await client.refresh(refreshToken, key: attempt.key) {
    case .failed(let failure):
      await fail(run, failure, intent: intent)
    case .answered(let body, let sentAt):
      var answered = intent
      answered.boot = sentAt
      await keep(VaultActor.StagedAnswer(intent: answered, body: body), run)
    }
  }

  /// The attempt that this run ends, if it still counts.
  private func current(_ run: Run, epoch: UInt64? = nil) -> TokenMachine.Attempt? {
    guard currentExchange == run, let loaded, epoch == nil || loaded.profile.epoch == epoch else { return nil }
    return loaded.machine.exchange
  }

  /// The account was signed out while the provider answered, or the answer is somebody else's: its token is nobody's
  /// here, and is revoked.
  private func quarantine(_ answer: VaultActor.StagedAnswer) async {
    guard let token = TokenResponse(body: answer.body)?.refreshToken else { return }
    await quarantine(token)
  }

  private func quarantine(_ token: Secret) async {
    if let entry = try? await dependencies.vault.quarantine(token, of: id) { dependencies.revoke(entry) }
  }

  /// Steps 3 and 4: the raw answer is durable before it is judged, the new grant before anybody is told.
  private func keep(_ answer: VaultActor.StagedAnswer, _ run: Run) async {
    let intent = answer.intent
    do {
      switch try await dependencies.vault.stage(answer.body, for: intent, of: id) {
      case .staged: break
      case .dropped: return giveUp(answer)
      case .overtaken:
        if pendingResponse?.intent.epoch == intent.epoch { pendingResponse = nil }
        return await quarantine(answer)
      }
    } catch {
      // The disk failed between the check and now. The answer stays in guarded memory and is kept with the next attempt.
      hold(answer, run)
      return await fail(run, store: error)
    }
    guard current(run, epoch: intent.epoch) != nil, let now = loaded else { return }  // it is on the disk
    guard let response = TokenResponse(body: answer.body) else {
      pendingResponse = nil
      return await fail(run, .unknownOutcome("unreadableAnswer"), intent: intent)
    }
    guard response.accessToken != nil || response.refreshToken != nil else {
      pendingResponse = nil
      return await fail(run, .transient("notAnOAuthAnswer", retryAfter: nil), intent: intent)
    }
    if let change = change(in: response.idToken, of: now) {
      // Another person: nothing of the answer belongs to this account, and neither does what it was asked with.
      await quarantine(answer)
      if let spent = now.grant.refreshToken { await quarantine(spent) }
      loaded?.grant.refreshToken = nil
      pendingResponse = nil
      return await fail(run, .reauthenticate(reason: change.rawValue), intent: intent)
    }
    var grant = now.grant
    grant.refreshToken = response.refreshToken ?? grant.refreshToken
    grant.generation += 1
    grant.memory = GrantMemory(
      now.machine.memory(afterSuccessFor: intent.key), boot: clock.boot(), wall: clock.wall())
    if let lifetime = response.refreshTokenExpiresIn {
      grant.refreshTokenExpiresAt = dependencies.time.now(for: now.profile.provider) + lifetime
    }
    let narrowed = intent.key == .standard ? narrow(&grant, to: response.scope) : nil
    // What was recovered after a reboot has no time that can be trusted: its refresh token is kept, and used again.
    let fresh =
      intent.bootID == clock.bootID
      ? AccessToken(
        response, for: intent.key, of: grant, sentAt: intent.boot, clock: clock,
        now: dependencies.time.now(for: now.profile.provider)) : nil
    let kept: AccountProfile
    let heard: VaultActor.RightsChange?
    do {
      let tokens = keepsake(with: fresh)
      guard
        let end = try await dependencies.vault.finish(intent, of: id, grant: grant, answer: response, tokens: tokens)
      else { return }
      (kept, heard) = end
    } catch {
      if error.isLocked { return giveUp(answer) }
      hold(answer, run)
      return await fail(run, store: error)
    }
    guard let attempt = current(run, epoch: intent.epoch) else { return }
    pendingResponse = nil
    uncertainIntent = nil
    loaded?.grant = grant
    loaded?.lastFailure = nil
    loaded?.storeError = nil
    loaded?.profile = kept
    defer { askAboutRights() }
    let token = intent.key == attempt.key ? fresh.flatMap(take) : nil
    guard let token else {
      tell(heard)
      perform(loaded?.machine.exchangeBroughtNoToken(attempt: attempt.number, at: clock.boot()) ?? [])
      return publish()
    }
    let effects = loaded?.machine.exchangeSucceeded(attempt: attempt.number, token: token.facts, at: clock.boot()) ?? []
    // Published before the callers are told: whoever asks after an answer gets no older token than it named.
    publish()
    if let narrowed {
      dependencies.events.publish(.tokenScopesNarrowed(scopes: grant.scopes, lost: narrowed), account: id)
    }
    tell(heard)
    dependencies.events.publish(
      .tokenRefreshed(
        generation: grant.generation, expiresAt: token.expiresAt(on: clock), scopes: token.scopes,
        resource: intent.key.resource), account: id)
    perform(effects)
  }

  /// The vault was locked, and the answer is on the disk: the memory of before is of no use, if it is still there.
  private func giveUp(_ answer: VaultActor.StagedAnswer) {
    // Unlocked again, and loaded with that answer: the attempt that waits goes on with it.
    if loaded != nil, let pendingResponse, pendingResponse.intent.nonce == answer.intent.nonce { return }
    release(.locked)
    if pendingResponse?.intent.nonce == answer.intent.nonce { pendingResponse = nil }
  }

  /// The disk can't take the answer now: it stays in guarded memory, and with it nothing is in doubt.
  private func hold(_ answer: VaultActor.StagedAnswer, _ run: Run) {
    // One that a sign-in has overtaken must not take the place of the new grant's.
    if let pendingResponse, pendingResponse.intent.epoch > answer.intent.epoch { return }
    pendingResponse = answer
    guard let attempt = current(run, epoch: answer.intent.epoch) else { return }
    perform(loaded?.machine.answerIsHeld(attempt: attempt.number) ?? [])
  }

  /// What a refreshed ID token says differently and may not (OpenID Connect Core §12.2); nil if it may be believed.
  private func change(in idToken: Secret?, of loaded: Loaded) -> IDTokenFailure? {
    guard let refreshed = idToken.flatMap(IDTokenIdentity.read) else { return nil }
    if refreshed.subject != loaded.profile.identity.subject { return .subjectChanged }
    return loaded.idTokenIdentity?.changes(in: refreshed).first
  }

  /// A narrower `scope` in the answer shrinks what is known (RFC 6749 §5.1); nil if nothing was lost.
  private func narrow(_ grant: inout GrantRecord, to scope: ScopeSet?) -> [String]? {
    guard let scope, scope != grant.scopes else { return nil }
    let lost = grant.scopes.names.filter { !scope.names.contains($0) }
    grant.scopes = scope
    if !lost.isEmpty { grant.isNarrowed = true }
    return lost.isEmpty ? nil : lost
  }

  /// Our own store said no: whoever waits is told what it said.
  private func fail(_ run: Run, store error: AgentFailure) async {
    loaded?.storeError = error.told(for: id)
    await fail(run, .store, intent: nil)
  }

  /// The attempt brought no token: the machine decides what that means, and the journal keeps what is in doubt.
  private func fail(_ run: Run, _ failure: ExchangeFailure, intent: ExchangeIntent?) async {
    guard var attempt = current(run, epoch: intent?.epoch) else { return await leave(failure, intent) }
    dependencies.environment.log.log(
      .notice, "exchange failed",
      [
        (.account, .hashed(id.text)), (.attempt, .number(Int64(attempt.number))),
        (.reason, .name(failure.kind.rawValue)),
      ])
    let jitter = dependencies.environment.entropy.fraction()
    if let intent {
      // Committed before anybody is told: after a crash the same failure is known.
      var grant = loaded!.grant
      var machine = loaded!.machine
      _ = machine.exchangeFailed(attempt: attempt.number, failure, at: clock.boot(), jitter: jitter)
      grant.memory = GrantMemory(machine.memory, boot: clock.boot(), wall: clock.wall())
      do {
        try await dependencies.vault.settle(
          epoch: intent.epoch, of: id, grant: grant, journal: journal(after: failure, of: intent))
      } catch {
        // The intent stays on the disk: after a crash the outcome would be in doubt, which is never less careful.
      }
      guard let now = current(run, epoch: intent.epoch) else { return await leave(failure, intent) }
      attempt = now
    }
    loaded?.lastFailure = LastFailure(kind: failure.kind, at: clock.wall(), reason: failure.reason)
    perform(loaded?.machine.exchangeFailed(attempt: attempt.number, failure, at: clock.boot(), jitter: jitter) ?? [])
    publish()
  }

  /// What stays in the journal: what is in doubt, and if a replay never left, what was in doubt before it.
  private func journal(after failure: ExchangeFailure, of intent: ExchangeIntent) -> VaultActor.JournalEnd {
    switch failure {
    case .unknownOutcome:
      if !intent.isReplay { uncertainIntent = intent }
      return .inDoubt(intent)
    case .offline, .untrustedServer, .store:
      return intent.isReplay ? uncertainIntent.map { .inDoubt($0) } ?? .done : .done
    case .reauthenticate: return .done
    // A replay that was answered, and not with what became of the first request: the doubt stands.
    default: return intent.isReplay ? .inDoubt(intent) : .done
    }
  }

  /// The vault was locked before the journal heard of a failure: it is told after the unlocking. If the agent ends
  /// before that, a token that was not spent must not be taken for one that was.
  private func leave(_ failure: ExchangeFailure?, _ intent: ExchangeIntent?) async {
    guard loaded == nil, let intent else { return }
    unreportedOutcome = UnreportedOutcome(intent: intent, failure: failure)
    guard !intent.isReplay, failure?.leavesTheTokenUnspent ?? true else { return }
    try? await dependencies.vault.dropUnspent(intent, of: id)
  }

  /// The vault was locked: what is in memory is given up, and what could not be kept until now is dropped.
  func vaultWasLocked() async {
    release(.locked)
    guard currentExchange == nil, let held = pendingResponse else { return }
    // Who asks after the unlocking waits for this as for an exchange.
    runs += 1
    let run = Run(
      number: runs, key: held.intent.key, startedAt: held.intent.boot, ticket: dependencies.gate.ticket())
    currentExchange = run
    let kept = try? await dependencies.vault.stage(held.body, for: held.intent, of: id)
    if kept == .overtaken { await quarantine(held) }
    if kept != nil, loaded == nil, pendingResponse?.intent.nonce == held.intent.nonce { pendingResponse = nil }
    end(run)
  }
}

extension ExchangeFailure {
  /// The provider did not serve the request, or it never came there: the refresh token is as good as before.
  fileprivate var leavesTheTokenUnspent: Bool {
    switch self {
    case .offline, .untrustedServer, .transient, .unexplained, .locked, .interaction, .misconfigured, .store: true
    case .unknownOutcome, .reauthenticate: false
    }
  }
}
