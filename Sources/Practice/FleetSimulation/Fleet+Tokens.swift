internal import AgentCore
internal import AgentModel

/// The shell of `TokenMachine`, `ExchangeMachine` and `ExchangeQueue`: as `Account`, `ExchangeRunner`, `ExchangeGate` and
/// `RenewalPlan`.
extension Fleet {
  /// A token that the provider issued at `moment`, as `IssuedTokens.take` makes it.
  func token(of agent: Int, at moment: Int64) -> TokenMachine.TokenFacts {
    agents[agent].serial += 1
    let lifetime = Milliseconds.seconds(plan.lifetime)
    let issuedAt = BootInstant(milliseconds: Self.bootOffset + moment)
    let expiresAt = issuedAt + lifetime
    let refreshAt = expiresAt + (.zero - LeadTime.of(lifetime: lifetime))
    return TokenMachine.TokenFacts(
      serial: agents[agent].serial, lifetime: lifetime, refreshAt: refreshAt, expiresAt: expiresAt,
      renewAt: RenewalTime.of(
        issuedAt: issuedAt, refreshAt: refreshAt, expiresAt: expiresAt, jitter: random.fraction()),
      fingerprint: "\(agents[agent].serial)")
  }

  // MARK: programs

  func ask(_ agent: Int) {
    agents[agent].waiters += 1
    perform(
      agents[agent].machine.wanted(
        by: agents[agent].waiters, key: .standard, demand: .usable(minimumLifetime: Self.minimumLifetime), at: boot),
      agent)
    watch(agent)
    planNextAsk(agent)
  }

  /// The next request that a fresh token does not answer, and no pause refuses from memory.
  func planNextAsk(_ agent: Int) {
    let machine = agents[agent].machine
    guard machine.health != .signedOut else { return }
    var next = now
    if let token = machine.standardToken, boot < token.refreshAt { next = moment(token.refreshAt) }
    if agents[agent].isUnwell, let until = pauseEnd(of: agent) {
      next = max(next, moment(until))
      heap.plan(.rest, of: agent, at: max(now, moment(until)) + 1)
    }
    planAsk(agent, after: next)
  }

  /// When the next request of the agent's programs reaches the provider.
  func pauseEnd(of agent: Int) -> BootInstant? {
    let machine = agents[agent].machine
    return agents[agent].hasCaller ? machine.nextAttemptOfCallersAt : machine.nextAttemptAt
  }

  /// A server rejected the token that a program had: signed by a key that is no longer good.
  func wasRejected(_ agent: Int) {
    guard agents[agent].tokenKey != provider.keyNumber || agents[agent].serial == 1,
      let token = agents[agent].machine.standardToken
    else { return }
    agents[agent].waiters += 1
    perform(
      agents[agent].machine.wanted(
        by: agents[agent].waiters, key: .standard, demand: .replacing(fingerprint: token.fingerprint), at: boot),
      agent)
    if agents[agent].isUnwell {
      heap.plan(
        .rejected, of: agent,
        at: max(now, pauseEnd(of: agent).map(moment) ?? now)
          + random.pause(mean: agents[agent].pauseOfPrograms))
    }
  }

  func perform(_ effects: [TokenMachine.Effect], _ agent: Int) {
    for effect in agents[agent].machine.tell(at: boot) + effects {
      switch effect {
      case .exchange(let attempt):
        agents[agent].exchanges.attemptBegan(attempt)
        start(attempt, agent)
      case .answer: becomesWell(agent)
      case .refuse: becomesUnwell(agent)
      case .sessionExpired:
        personIsTold()
        planSignIn(agent)
      case .persistHealth, .stateChanged, .withdrawTokens: break
      }
    }
  }

  // MARK: exchanges

  private func start(_ attempt: TokenMachine.Attempt, _ agent: Int) {
    agents[agent].tickets += 1
    let run = agents[agent].tickets
    perform(agents[agent].exchanges.begin(attempt, as: run), agent)
    advance(agent)
  }

  /// Performs the steps of the run until one waits for the provider.
  private func advance(_ agent: Int) {
    while let run = agents[agent].exchanges.current, let step = agents[agent].exchanges.step(of: run) {
      switch step {
      case .queue:
        let isWanted = agents[agent].machine.isWanted
        let admitted = agents[agent].queue.enter(run, issuer: Self.issuer, isWanted: isWanted, at: boot)
        guard admitted.contains(run) else { return planQueueLook(agent) }
        complete(run, .queued(isAdmitted: true), agent)
      case .prepare(let attempt):
        guard agents[agent].machine.sending(attempt: attempt.number, at: boot) else {
          complete(run, .prepared(.graceElapsed), agent)
          continue
        }
        complete(run, .prepared(.ready(intent(attempt))), agent)
      case .connect: return send(run, agent)
      case .stage: complete(run, .staged(.staged), agent)
      case .judge: complete(run, .judged(.usable), agent)
      case .commit: complete(run, .committed(.durable), agent)
      case .adopt: complete(run, .adopted(hasToken: true), agent)
      case .settle: complete(run, .settled, agent)
      case .withhold: complete(run, .sent(.failed(.store)), agent)
      case .end: complete(run, .ended, agent)
      case .begin, .mark, .send, .revokeHeld, .disown, .noteUnspent, .drop, .revokeOvertaken: return
      }
    }
  }

  private func intent(_ attempt: TokenMachine.Attempt) -> ExchangeIntent {
    ExchangeIntent(
      attempt: attempt.number, epoch: 1, generation: 1, fingerprint: "",
      wall: Timestamp(milliseconds: boot.milliseconds),
      bootID: "", boot: boot, key: attempt.key, isReplay: attempt.isReplay, nonce: [])
  }

  /// The connection stands or not; if so the request leaves.
  private func send(_ run: ExchangeQueue.Ticket, _ agent: Int) {
    var (result, at) = provider.take(.token, at: now)
    if result != .refused {
      guard agents[agent].exchanges.connected(run, at: boot, wall: Timestamp(milliseconds: boot.milliseconds)) != nil,
        agents[agent].exchanges.began(run, .durable), agents[agent].exchanges.marked(run, .done)
      else { return }
    }
    if result == .served, plan.scenario == .sessionsEnded, !agents[agent].isSigningIn, endedBeforeToken(agent) {
      result = .invalidGrant
    }
    heap.plan(.answer, of: agent, at: at, result: result)
  }

  private func endedBeforeToken(_ agent: Int) -> Bool {
    guard now >= FleetPlan.beginning * 1000, let token = agents[agent].machine.standardToken else { return false }
    return moment(token.expiresAt) - plan.lifetime * 1000 < FleetPlan.beginning * 1000
  }

  func answer(_ agent: Int, _ result: ProviderResult) {
    guard let run = agents[agent].exchanges.current else { return }
    readDocuments(agent, result)
    if let failure = provider.failure(result, at: now) {
      if failure.isSilence {
        agents[agent].queue.fellSilent(Self.issuer, at: boot)
      } else if result != .refused {
        admit(agents[agent].queue.answered(Self.issuer, at: boot), agent)
      }
      complete(run, .sent(.failed(agents[agent].machine.grant.judged(failure))), agent)
    } else {
      admit(agents[agent].queue.answered(Self.issuer, at: boot), agent)
      complete(run, .sent(.answered(sentAt: boot)), agent)
    }
    advance(agent)
    watch(agent)
    planNextAsk(agent)
  }

  private func complete(_ run: ExchangeQueue.Ticket, _ outcome: ExchangeMachine.Outcome, _ agent: Int) {
    perform(agents[agent].exchanges.completed(run, outcome), agent)
  }

  private func perform(_ effects: [ExchangeMachine.Effect], _ agent: Int) {
    for effect in effects {
      switch effect {
      case .start(let attempt): start(attempt, agent)
      case .leaveQueue(let run): admit(agents[agent].queue.leave(run, at: boot), agent)
      case .report(.token(let number)):
        let token = token(of: agent, at: now)
        perform(agents[agent].machine.exchangeSucceeded(attempt: number, token: token, at: boot), agent)
        becomesWell(agent)
        broughtIDToken(agent)
      case .report(.failure(let failure, let number)):
        perform(
          agents[agent].machine.exchangeFailed(attempt: number, failure, at: boot, jitter: random.fraction()), agent)
      case .watchRenewal: watch(agent)
      default: break
      }
    }
  }

  // MARK: the queue

  private func admit(_ tickets: [ExchangeQueue.Ticket], _ agent: Int) {
    for ticket in tickets where agents[agent].exchanges.step(of: ticket) == .queue {
      complete(ticket, .queued(isAdmitted: true), agent)
      advance(agent)
    }
  }

  private func planQueueLook(_ agent: Int) {
    guard let next = agents[agent].queue.nextLook(at: boot) else { return }
    heap.plan(.queue, of: agent, at: max(now, moment(next)))
  }

  func lookAtQueue(_ agent: Int) {
    admit(agents[agent].queue.look(at: boot), agent)
    for _ in agents[agent].queue.issuersToAsk(at: boot) {
      let (result, at) = provider.take(.documents, at: now)
      heap.plan(.probe, of: agent, at: at, result: result)
    }
    planQueueLook(agent)
  }

  func probeAnswer(_ agent: Int, _ result: ProviderResult) {
    switch result {
    case .refused, .silent: agents[agent].queue.didNotAnswer(Self.issuer, at: boot)
    default: admit(agents[agent].queue.answered(Self.issuer, at: boot), agent)
    }
    planQueueLook(agent)
  }

  // MARK: renewal

  func watch(_ agent: Int) {
    if let next = agents[agent].machine.nextRenewal(at: boot) { planLook(agent, at: moment(next)) }
  }

  func planLook(_ agent: Int, at moment: Int64) {
    if let planned = agents[agent].nextLook, planned <= moment, planned >= now { return }
    agents[agent].nextLook = max(now, moment)
    heap.plan(.renewal, of: agent, at: max(now, moment))
  }

  func look(_ agent: Int, planned: Int64) {
    guard agents[agent].nextLook == planned else { return }
    agents[agent].nextLook = nil
    // As `AccountTokens.noteUse`: the last request of a program that the cache answered. No program ran during sleep.
    let lastUse = now - random.pause(mean: agents[agent].pauseOfPrograms)
    if lastUse >= agents[agent].awakeSince {
      agents[agent].machine.used(.standard, at: BootInstant(milliseconds: Self.bootOffset + lastUse))
    }
    perform(agents[agent].machine.renew(at: boot), agent)
    watch(agent)
  }
}
