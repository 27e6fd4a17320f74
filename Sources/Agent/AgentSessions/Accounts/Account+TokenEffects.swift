internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentRecords
internal import AgentStore

/// Performs the effects of `TokenMachine`, at once.
extension Account {
  /// First the tokens go that are not served any more, then the change of the state is told: a caller that is answered
  /// finds the state that its answer speaks of.
  func perform(_ effects: [TokenMachine.Effect]) {
    let told = loaded?.machine.tell(at: clock.boot()) ?? []
    if effects.contains(.withdrawTokens) { withdrawTokens() }
    for effect in told + effects {
      switch effect {
      case .exchange(let attempt):
        // During the shutdown `BackgroundWork` starts no work: refuse the waiters instead.
        if !begin(attempt) { refuseWaiters(.shuttingDown) }
      case .answer(let waiter, let serial, let source):
        guard let token = tokens[serial], let profile = loaded?.profile else {
          waiting.answer(waiter, .failure(.shuttingDown))
          continue
        }
        let left = token.facts.expiresAt - clock.boot()
        waiting.answer(
          waiter,
          .success(
            TokenAnswer(
              token: token, account: id, issuer: profile.identity.issuer, source: source,
              expiresAt: profile.givenEnd
                ?? dependencies.time.moment(token.facts.expiresAt, of: profile.provider),
              expiresInSeconds: max(0, left.wholeSeconds))))
      case .refuse(let waiter, .store) where loaded?.storeError != nil:
        waiting.answer(waiter, .failure(loaded!.storeError!))
      case .refuse(let waiter, let refusal):
        waiting.answer(waiter, .failure(failure(for: refusal)))
      case .withdrawTokens: break
      case .persistHealth:
        guard let loaded else { continue }
        self.loaded?.grant.memory = GrantMemory(loaded.machine.memory, boot: clock.boot(), wall: clock.wall())
      case .sessionExpired(let reason):
        dependencies.events.publish(.sessionExpired(reason: reason), account: id)
      case .stateChanged(let state, let previous):
        loaded?.beginState(at: dependencies.time.now(for:))
        publishSession()
        dependencies.events.publish(
          .sessionStateChanged(state, previous: previous, since: loaded?.stateBegan(by: dependencies.time)), account: id
        )
        storeWhatTimeChanged()
      }
    }
    publishSession()
  }

  /// What the caller is told of a refusal. A machine whose file has no token was refused by no provider.
  private func failure(for refusal: TokenMachine.Refusal) -> AgentFailure {
    let last = loaded?.lastFailure
    switch refusal {
    case .misconfigured(let reason):
      guard let fault = SubjectTokenFault(rawValue: reason) else { break }
      return .subjectToken(fault, path: last?.file, retryAfter: nil, id)
    case .unavailable(let pause):
      guard let fault = last?.reason.flatMap({ SubjectTokenFault(rawValue: $0) }), fault.mayPass else { break }
      return .subjectToken(fault, path: last?.file, retryAfter: pause, id)
    default: break
    }
    return .token(refusal, id)
  }

  /// Begins an attempt by what the account holds. False if nothing can be begun any more.
  private func begin(_ attempt: TokenMachine.Attempt) -> Bool {
    switch loaded?.profile.kind {
    case .secret?: return dependencies.background.start { await SecretConfirmation.run(attempt, of: self) }
    case .client?: return dependencies.background.start { await MachineExchange.run(attempt, of: self) }
    case .openid?, nil:
      exchanges.machine.attemptBegan(attempt)
      return dependencies.background.start { await ExchangeRunner.run(attempt, of: self) }
    }
  }

  /// Writes the record that all methods tell the account's state from.
  func publishSession() {
    guard let loaded else { return }
    dependencies.tokenCache.setSession(
      SessionState(
        state: loaded.machine.toldState, since: loaded.stateSince,
        mayChangeAt: loaded.machine.stateMayChange(at: clock.boot())), of: id)
  }

  /// The commit of a failed exchange dated the state that it leads to. Nil: nothing was stored.
  func isStored(_ profile: AccountProfile?) {
    guard let profile, loaded?.profile.epoch == profile.epoch else { return }
    loaded?.profile = profile
  }

  /// Time alone ended what the disk says of a lost answer, or ended a secret or gave it back: stores it, so that the person
  /// is told once, and not at each start. An exchange that fails has stored what it means before this.
  private func storeWhatTimeChanged() {
    guard let loaded, loaded.isOvertakenByTime(at: clock.boot()) else { return }
    let (epoch, failed) = (loaded.profile.epoch, FailedExchange(loaded.machine, on: clock))
    dependencies.background.start { [self] in
      let stored = try? await journal.note(failed, epoch: epoch)
      await isStored(stored ?? nil)
    }
  }

  /// Brings the state up to now: loads the account, and tells what time has changed.
  func settle() async throws(AgentFailure) {
    try await load()
    noticeReachability()
    // Decisions from memory stand as long as nothing changes.
    if let machine = loaded?.machine, machine.state(at: clock.boot()) != machine.toldState { perform([]) }
  }

  /// Wipes the tokens, and what was made of them. `ValidTokens` alone keeps an access token until it expires, to recognise
  /// it in an answer: a server may take it on.
  private func withdrawTokens() {
    guard let loaded, let refusal = loaded.machine.health.withheld else { return }
    tokens.publish(of: self)
    rareParts.identity?.forget(telling: nil)
    rareParts.derived?.forget(telling: .token(refusal, id))
    rareParts.roles?.forget(telling: .token(refusal, id))
    dependencies.validTokens.withdraw(id)
    self.loaded?.forgetRefreshTokenIfDisabled()
  }

  /// Throws if the provider does not stand by what it issued.
  func requireTokensServed() throws(AgentFailure) {
    if let refusal = loaded?.machine.health.withheld { throw .token(refusal, id) }
  }
}

extension Account.Loaded {
  /// The stored state is another one than time alone has made of it.
  fileprivate func isOvertakenByTime(at now: BootInstant) -> Bool {
    guard machine.toldState == .reauthenticationRequired else {
      return machine.health == .ok && profile.isStoredAsEnded && !machine.secretHasEnded(at: now)
    }
    return (machine.health == .unknown || machine.secretHasEnded(at: now)) && profile.restingState != machine.toldState
  }

  /// The state that the machine told begins. A commit that came with the change has dated it, and a restart goes on from
  /// there.
  fileprivate mutating func beginState(at now: (ProviderName) -> Timestamp) {
    let committed = profile.restingState == machine.toldState ? profile.stateSince : nil
    if let committed, stateSince.map({ $0 < committed }) ?? true {
      stateSince = committed
    } else {
      stateSince = now(profile.provider)
    }
  }

  /// When the state began that was told last, by the wall clock.
  fileprivate func stateBegan(by time: TimeKeeper) -> Timestamp? {
    stateSince.map { time.wall($0, of: profile.provider) }
  }

  /// The refresh token of a disabled account is not kept in memory: it is read anew for the next look.
  mutating func forgetRefreshTokenIfDisabled() {
    if machine.health == .locked { grant.refreshToken = nil }
  }
}
