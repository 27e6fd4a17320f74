internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import Secrets

/// Performs the effects of `ExchangeMachine`, at once.
extension ExchangeRunner {
  /// Performs the effects of an event of the account, which need no data of a run.
  func perform(_ effects: [ExchangeMachine.Effect], of account: isolated Account) {
    var data = RunData()
    perform(effects, of: account, &data)
  }

  func perform(_ effects: [ExchangeMachine.Effect], of account: isolated Account, _ data: inout RunData) {
    for effect in effects { perform(effect, of: account, &data) }
    answers.keep(only: machine.neededAnswers)
  }

  private func perform(_ effect: ExchangeMachine.Effect, of account: isolated Account, _ data: inout RunData) {
    switch effect {
    case .start(let attempt):
      let isStarted = account.dependencies.background.start { await Self.run(attempt, of: account) }
      if !isStarted { account.refuseWaiters(.shuttingDown) }
    case .leaveQueue(let run): account.dependencies.gate.leave(run)
    case .release: account.release(.locked)
    case .outdateLoads: account.loader.outdate()
    case .logFailure(let failure, let attempt): log(failure, attempt, of: account)
    case .report(let report): tell(report, of: account, &data)
    case .forgetRefreshToken:
      account.loaded?.grant.refreshToken = nil
      data.isDisowned = true
    case .publish: account.tokens.publish(of: account)
    case .tellScopes:
      guard let renewed = data.renewed, let lost = renewed.lostScopes else { return }
      account.dependencies.events.publish(
        .tokenScopesNarrowed(scopes: renewed.grant.scopes, lost: lost), account: account.id)
    case .tellRights: account.adopt(data.renewed?.rights)
    case .tellRefreshed: tellRefreshed(data, of: account)
    case .answerWaiters: account.perform(data.effects)
    case .askAboutRights: account.fetchRights()
    case .watchRenewal: account.renewal.watch(account)
    }
  }

  /// Reports to the token machine.
  private func tell(_ report: ExchangeMachine.Report, of account: isolated Account, _ data: inout RunData) {
    let now = account.clock.boot()
    switch report {
    case .held(let attempt): account.perform(account.loaded?.machine.answerIsHeld(attempt: attempt) ?? [])
    case .failure(let failure, let attempt):
      account.rareParts.confirmer?.exchangeEnded()
      let isOfTheGrant = account.loaded?.machine.failsAlone(failure, attempt: attempt, at: now) != true
      if isOfTheGrant {
        account.note(failure)
      }
      if failure.mayComeFromTheNetwork { account.dependencies.environment.signals.networkIsMissed() }
      let jitter = data.jitter ?? account.dependencies.environment.entropy.fraction()
      let effects =
        account.loaded?.machine.exchangeFailed(attempt: attempt, failure, at: now, jitter: jitter) ?? []
      if isOfTheGrant { account.count(ExchangeOutcome(failure), at: now) }
      account.perform(effects)
    case .noToken(let attempt) where data.renewed?.isUnbound == true:
      let failure = ExchangeFailure.misconfigured(TokenMachine.notBound)
      account.note(failure)
      let effects = account.loaded?.machine.exchangeBroughtUnboundToken(attempt: attempt, at: now) ?? []
      account.count(.providerMisconfigured, at: now)
      account.perform(effects)
    case .noToken(let attempt):
      // An answer of an earlier boot has a token that is only too old; one without a token that the agent can use is
      // told.
      if let response = data.response, response.accessToken == nil {
        let failure = ExchangeFailure.transient(TokenMachine.noUsableToken, retryAfter: nil)
        account.note(failure)
      }
      let effects = account.loaded?.machine.exchangeBroughtNoToken(attempt: attempt, at: now) ?? []
      account.count(.noToken, at: now)
      account.perform(effects)
    case .token(let attempt):
      guard let token = data.token else { return }
      data.effects = account.loaded?.machine.exchangeSucceeded(attempt: attempt, token: token.facts, at: now) ?? []
      account.count(.renewed, at: now)
    case .answer(let key, let moment):
      account.perform(account.loaded?.machine.recoveredWithAnswer(for: key, at: moment) ?? [])
    case .lostRequest(let sentAt, let lostReplays):
      account.perform(
        account.loaded?.machine.recoveredWithoutAnswer(
          sentAt: sentAt, lostReplays: lostReplays, at: now,
          jitter: account.dependencies.environment.entropy.fraction()) ?? [])
    }
  }

  private func log(_ failure: ExchangeFailure, _ attempt: UInt64, of account: isolated Account) {
    account.dependencies.environment.log.log(
      .notice, "exchange failed",
      [
        (.account, .hashed(account.id.text)), (.attempt, .number(Int64(attempt))),
        (.reason, .name(failure.kind.rawValue)),
      ])
  }

  private func tellRefreshed(_ data: RunData, of account: isolated Account) {
    if let token = data.token, data.renewed != nil { account.tellRefreshed(token) }
  }
}

extension Account {
  /// Counts the outcome of an exchange. After the token machine was told, so that it knows of the pause.
  func count(_ outcome: ExchangeOutcome, at now: BootInstant) {
    guard let loaded else { return }
    dependencies.environment.figures.exchangeEnded(
      outcome, issuer: loaded.profile.identity.issuer,
      isPaused: outcome != .renewed && loaded.machine.phase(at: now) == .backoff)
  }

  /// Tells subscribers of the token that an exchange brought; its grant is in memory.
  func tellRefreshed(_ token: IssuedToken) {
    guard let generation = loaded?.grant.generation else { return }
    dependencies.events.publish(
      .tokenRefreshed(
        generation: generation, expiresAt: clock.wall() + (token.facts.expiresAt - clock.boot()), scopes: token.scopes,
        resource: token.resource), account: id)
  }
}
