internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import Secrets

/// Performs the effects of `ExchangeMachine`, at once.
extension Account {
  /// Performs the effects of an event of the account, which need no data of a run.
  func perform(_ effects: [ExchangeMachine.Effect]) {
    var data = RunData()
    perform(effects, &data)
  }

  func perform(_ effects: [ExchangeMachine.Effect], _ data: inout RunData) {
    for effect in effects { perform(effect, &data) }
    wipeAnswers()
  }

  /// Wipes the answers that the machine no longer refers to.
  func wipeAnswers() {
    let needed = exchanges.neededAnswers
    answers = answers.filter { needed.contains($0.key) }
  }

  private func perform(_ effect: ExchangeMachine.Effect, _ data: inout RunData) {
    switch effect {
    case .start(let attempt): dependencies.background.start { await self.exchange(attempt) }
    case .leaveQueue(let run): dependencies.gate.leave(run)
    case .release: release(.locked)
    case .outdateLoads: replacements += 1
    case .logFailure(let failure, let attempt): log(failure, attempt)
    case .report(let report): tell(report, &data)
    case .forgetRefreshToken: loaded?.grant.refreshToken = nil
    case .publish: publish()
    case .tellScopes:
      guard let renewed = data.renewed, let lost = renewed.lostScopes else { return }
      dependencies.events.publish(.tokenScopesNarrowed(scopes: renewed.grant.scopes, lost: lost), account: id)
    case .tellRights: adopt(data.renewed?.rights)
    case .tellRefreshed: tellRefreshed(data)
    case .answerWaiters: perform(data.effects)
    case .askAboutRights: fetchRights()
    case .watchRenewal: watchRenewal()
    }
  }

  /// Reports to the token machine.
  private func tell(_ report: ExchangeMachine.Report, _ data: inout RunData) {
    let now = clock.boot()
    switch report {
    case .held(let attempt): perform(loaded?.machine.answerIsHeld(attempt: attempt) ?? [])
    case .failure(let failure, let attempt):
      confirmer.exchangeEnded()
      loaded?.lastFailure = LastFailure(kind: failure.kind, at: clock.wall(), reason: failure.reason)
      let jitter = data.jitter ?? dependencies.environment.entropy.fraction()
      perform(loaded?.machine.exchangeFailed(attempt: attempt, failure, at: now, jitter: jitter) ?? [])
    case .noToken(let attempt):
      // An answer of an earlier boot has a token that is only too old; one without a token that the agent can use is
      // told.
      if let response = data.response, response.accessToken == nil {
        let failure = ExchangeFailure.transient(TokenMachine.noUsableToken, retryAfter: nil)
        loaded?.lastFailure = LastFailure(kind: failure.kind, at: clock.wall(), reason: failure.reason)
      }
      perform(loaded?.machine.exchangeBroughtNoToken(attempt: attempt, at: now) ?? [])
    case .token(let attempt):
      guard let token = data.token else { return }
      data.effects = loaded?.machine.exchangeSucceeded(attempt: attempt, token: token.facts, at: now) ?? []
    case .answer(let key, let moment):
      perform(loaded?.machine.recoveredWithAnswer(for: key, at: moment) ?? [])
    case .lostRequest(let sentAt, let wasReplay):
      perform(loaded?.machine.recoveredWithoutAnswer(sentAt: sentAt, wasReplay: wasReplay, at: now) ?? [])
    }
  }

  private func log(_ failure: ExchangeFailure, _ attempt: UInt64) {
    dependencies.environment.log.log(
      .notice, "exchange failed",
      [
        (.account, .hashed(id.text)), (.attempt, .number(Int64(attempt))),
        (.reason, .name(failure.kind.rawValue)),
      ])
  }

  private func tellRefreshed(_ data: RunData) {
    guard let token = data.token, let grant = data.renewed?.grant else { return }
    dependencies.events.publish(
      .tokenRefreshed(
        generation: grant.generation, expiresAt: token.expiresAt(on: clock), scopes: token.scopes,
        resource: token.resource), account: id)
  }
}
