public import AgentModel

/// The reports of runs, and their next steps.
extension ExchangeMachine {
  /// Finishes what an earlier run left before a new request; it needs no place in the queue.
  mutating func takeUp(_ run: RunID) -> [Effect] {
    guard let grant else { return go(run, to: .end) }
    if let overtaken = overtakenAnswer {
      overtakenAnswer = nil
      return go(run, to: .revokeHeld(overtaken))
    }
    switch leftover {
    case .answer(let held) where held.epoch == grant.epoch: return go(run, to: .stage(held))
    case .answer(let held):
      leftover = .nothing
      return go(run, to: .revokeHeld(held))
    case .outcome(let intent, let failure?):
      leftover = .nothing
      return fail(run, failure, intent)
    case .outcome(_, nil), .nothing:
      leftover = .nothing
      return go(run, to: .queue)
    }
  }

  public mutating func heldWasRevoked(_ run: RunID) -> [Effect] {
    guard case .revokeHeld? = step(of: run) else { return [] }
    return takeUp(run)
  }

  /// The run left the queue: it may go, or the agent ends.
  public mutating func queued(_ run: RunID, isAdmitted: Bool) -> [Effect] {
    guard case .queue? = step(of: run) else { return [] }
    runs[run]?.isInQueue = isAdmitted
    guard isAdmitted, let attempt = attempt(of: run) else { return go(run, to: .end) }
    return go(run, to: .prepare(attempt))
  }

  /// The attempt is a replay, and its provider does not answer now: the replay would be lost too.
  public mutating func providerIsSilent(_ run: RunID) -> [Effect] {
    guard case .queue? = step(of: run) else { return [] }
    return fail(run, .offline("notAnswering"), nil)
  }

  public mutating func prepared(_ run: RunID, _ preparation: Preparation) -> [Effect] {
    guard case .prepare? = step(of: run) else { return [] }
    switch preparation {
    case .ready(let intent): return go(run, to: .connect(intent))
    case .graceElapsed: return fail(run, .unknownOutcome("graceElapsed"), nil)
    case .noRefreshToken: return fail(run, .reauthenticate(reason: "noRefreshToken"), nil)
    }
  }

  /// The connection stands, and the intent may be written, as of now. The attempt that it is for; nil if there is none
  /// any more, and nothing must be sent.
  public mutating func connected(_ run: RunID, at now: BootInstant, wall: Timestamp) -> TokenMachine.Attempt? {
    guard case .connect(var intent)? = step(of: run), let attempt = attempt(of: run, epoch: intent.epoch) else {
      return nil
    }
    (intent.boot, intent.wall) = (now, wall)
    if intent.isReplay {
      intent.firstSent = grant?.uncertain.map { ExchangeIntent.Sending(bootID: $0.bootID, boot: $0.boot) }
    }
    runs[run]?.step = .begin(intent)
    return attempt
  }

  /// True if the request may be marked as leaving now. What else there is to do is told when the connection has ended, by
  /// `sent`.
  public mutating func began(_ run: RunID, _ beginning: Beginning) -> Bool {
    guard case .begin(let intent)? = step(of: run) else { return false }
    let mayLeave = beginning == .durable && attempt(of: run, epoch: intent.epoch) != nil
    var leaving = intent
    leaving.isLeaving = true
    runs[run]?.step = mayLeave ? .mark(leaving) : .withhold(intent, beginning)
    return mayLeave
  }

  /// True if the request may leave now.
  public mutating func marked(_ run: RunID, _ marking: Marking) -> Bool {
    guard case .mark(let intent)? = step(of: run) else { return false }
    let mayLeave = marking == .done && attempt(of: run, epoch: intent.epoch) != nil
    runs[run]?.step =
      mayLeave ? .send(intent) : .withhold(intent, marking == .storeFailed ? .unmarked : .durable)
    return mayLeave
  }

  /// The connection has ended: with an answer, or with none.
  public mutating func sent(_ run: RunID, _ reply: Reply) -> [Effect] {
    switch (step(of: run), reply) {
    // There was no connection: nothing was written.
    case (.connect?, .failed(let failure)) where failure.leavesTheTokenUnspent: return fail(run, failure, nil)
    case (.connect(var intent)?, .failed(let failure)), (.send(var intent)?, .failed(let failure)):
      intent.isLeaving = true
      return fail(run, failure, intent)
    case (.connect(var intent)?, .answered(let sentAt)), (.send(var intent)?, .answered(let sentAt)):
      (intent.isLeaving, intent.boot) = (true, sentAt)
      return go(run, to: .stage(intent))
    case (.withhold(let intent, let beginning)?, _):
      switch beginning {
      case .durable: return leave(run, nil, intent)
      case .graceElapsed: return fail(run, .unknownOutcome("graceElapsed"), nil)
      case .overtaken: return go(run, to: .end)
      case .storeFailed: return fail(run, .store, nil)
      case .unmarked: return fail(run, .store, intent)
      }
    default: return []
    }
  }

  // MARK: an answer

  public mutating func staged(_ run: RunID, _ staging: Staging) -> [Effect] {
    guard case .stage(let answer)? = step(of: run) else { return [] }
    switch staging {
    // One that no longer counts is on the disk: the next loading finds it.
    case .staged: return go(run, to: attempt(of: run, epoch: answer.epoch) == nil ? .end : .judge(answer))
    case .dropped: return giveUp(run, answer)
    case .overtaken: return revoke(run, answer)
    case .storeFailed: return hold(run, answer)
    }
  }

  public mutating func judged(_ run: RunID, _ judgement: Judgement) -> [Effect] {
    guard case .judge(let answer)? = step(of: run) else { return [] }
    switch judgement {
    case .usable: return go(run, to: .commit(answer))
    case .unreadable:
      forgetHeld(answer)
      return fail(run, .unknownOutcome("unreadableAnswer"), answer)
    case .withoutTokens:
      forgetHeld(answer)
      return fail(run, .transient("notAnOAuthAnswer", retryAfter: nil), answer)
    case .anotherPerson(let reason): return go(run, to: .disown(answer, reason: reason))
    }
  }

  /// Nothing of the answer belongs to this account, and neither does the token that it was asked with.
  public mutating func disowned(_ run: RunID) -> [Effect] {
    guard case .disown(let answer, let reason)? = step(of: run) else { return [] }
    forgetHeld(answer)
    let counts = attempt(of: run, epoch: answer.epoch) != nil
    return (counts ? [.forgetRefreshToken] : []) + fail(run, .reauthenticate(reason: reason), answer)
  }

  public mutating func committed(_ run: RunID, _ commitment: Commitment) -> [Effect] {
    guard case .commit(let answer)? = step(of: run) else { return [] }
    switch commitment {
    case .overtaken: return go(run, to: .end)
    case .vaultLocked: return giveUp(run, answer)
    case .storeFailed: return hold(run, answer)
    case .durable:
      guard let attempt = attempt(of: run, epoch: answer.epoch) else { return go(run, to: .end) }
      leftover = .nothing
      grant?.uncertain = nil
      return go(run, to: .adopt(answer, takesToken: answer.key == attempt.key))
    }
  }

  /// Published before the callers are told, so that a later `token.get` returns no older token.
  public mutating func adopted(_ run: RunID, hasToken: Bool) -> [Effect] {
    guard case .adopt(let answer, _)? = step(of: run) else { return [] }
    guard let attempt = attempt(of: run, epoch: answer.epoch) else { return go(run, to: .end) }
    grant?.attempt = nil
    let told: [Effect] =
      hasToken
      ? [
        .report(.token(attempt: attempt.number)), .publish, .tellScopes, .tellRights, .tellRefreshed, .answerWaiters,
      ] : [.tellRights, .report(.noToken(attempt: attempt.number)), .publish]
    return told + [.askAboutRights] + go(run, to: .end)
  }

  // MARK: no token

  public mutating func settled(_ run: RunID) -> [Effect] {
    guard case .settle(let intent, let failure, _, _)? = step(of: run) else { return [] }
    guard let attempt = attempt(of: run, epoch: intent.epoch) else { return leave(run, failure, intent) }
    return conclude(run, failure, attempt)
  }

  public mutating func unspentWasNoted(_ run: RunID) -> [Effect] {
    guard case .noteUnspent? = step(of: run) else { return [] }
    return go(run, to: .end)
  }

  /// The result of dropping the held answer when the vault was locked. An answer that the inbox can't take stays.
  public mutating func dropped(_ run: RunID, _ staging: Staging) -> [Effect] {
    guard case .drop(let answer)? = step(of: run) else { return [] }
    switch staging {
    case .storeFailed: return go(run, to: .end)
    case .overtaken: return revoke(run, answer)
    case .staged, .dropped:
      if grant == nil { forgetHeld(answer) }
      return go(run, to: .end)
    }
  }

  public mutating func overtakenWasRevoked(_ run: RunID) -> [Effect] {
    guard case .revokeOvertaken? = step(of: run) else { return [] }
    return go(run, to: .end)
  }

  /// The next attempt has waited for this end. A run that a sign-in has overtaken holds nothing up.
  public mutating func ended(_ run: RunID) -> [Effect] {
    guard case .end? = step(of: run), let ended = runs.removeValue(forKey: run) else { return [] }
    let left: [Effect] = ended.isInQueue ? [.leaveQueue(run)] : []
    guard current == run else { return left }
    current = nil
    guard let grant else { return left + [.outdateLoads] }
    return left + (grant.attempt.map { [.start($0)] } ?? []) + [.watchRenewal]
  }

  // MARK: rules

  private mutating func go(_ run: RunID, to step: Step) -> [Effect] {
    runs[run]?.step = step
    return []
  }

  /// The attempt brought no token. What that means is durable before the callers are told: after a crash the same
  /// failure is known. Without an intent nothing was sent, and nothing is to be settled.
  private mutating func fail(_ run: RunID, _ failure: ExchangeFailure, _ intent: ExchangeIntent?) -> [Effect] {
    guard let attempt = attempt(of: run, epoch: intent?.epoch) else { return leave(run, failure, intent) }
    let logged: [Effect] = [.logFailure(failure, attempt: attempt.number)]
    guard let intent else { return logged + conclude(run, failure, attempt) }
    let journal = journal(after: failure, of: intent)
    return logged + go(run, to: .settle(intent, failure, attempt: attempt.number, journal))
  }

  private mutating func conclude(
    _ run: RunID, _ failure: ExchangeFailure, _ attempt: TokenMachine.Attempt
  ) -> [Effect] {
    grant?.attempt = nil
    return [.report(.failure(failure, attempt: attempt.number)), .publish] + go(run, to: .end)
  }

  /// What stays in the journal: what is in doubt, and if a replay never left, what was in doubt before it.
  private mutating func journal(after failure: ExchangeFailure, of intent: ExchangeIntent) -> JournalEnd {
    switch failure {
    case .unknownOutcome:
      if !intent.isReplay { grant?.uncertain = intent }
      return .inDoubt(intent)
    case .transient: return intent.isReplay ? .inDoubt(grant?.uncertain ?? intent) : .done
    case .offline, .untrustedServer, .store:
      return intent.isReplay ? grant?.uncertain.map { .inDoubt($0) } ?? .done : .done
    case .reauthenticate: return .done
    // A replay that was answered, and not with what became of the first request: the doubt stands.
    case .unexplained, .locked, .interaction, .misconfigured:
      return intent.isReplay ? .inDoubt(intent) : .done
    }
  }

  /// The vault was locked before the journal was told: it is told after the unlocking. If the agent ends before that, a
  /// token that was not spent must not be taken for one that was.
  private mutating func leave(_ run: RunID, _ failure: ExchangeFailure?, _ intent: ExchangeIntent?) -> [Effect] {
    guard grant == nil, current == run, let intent else { return go(run, to: .end) }
    if heldAnswer == nil { leftover = .outcome(intent, failure) }
    let isUnspent = !intent.isReplay && failure?.leavesTheTokenUnspent ?? true
    return go(run, to: isUnspent ? .noteUnspent(intent) : .end)
  }

  /// The disk can't take the answer now: it stays in guarded memory, and with it nothing is in doubt.
  private mutating func hold(_ run: RunID, _ answer: ExchangeIntent) -> [Effect] {
    // One that a sign-in has overtaken must not take the place of the new grant's.
    if let held = heldAnswer, held.epoch > answer.epoch {
      overtakenAnswer = answer
      return fail(run, .store, nil)
    }
    hold(current: answer)
    let attempt = attempt(of: run, epoch: answer.epoch)
    return (attempt.map { [.report(.held(attempt: $0.number))] } ?? []) + fail(run, .store, nil)
  }

  /// The vault was locked, and the answer is on the disk: the memory of before is of no use, if it is still there.
  private mutating func giveUp(_ run: RunID, _ answer: ExchangeIntent) -> [Effect] {
    // Unlocked again, and loaded with that answer: the attempt that waits goes on with it.
    if grant != nil, heldAnswer?.nonce == answer.nonce { return go(run, to: .end) }
    grant = nil
    forgetHeld(answer)
    return [.release] + go(run, to: .end)
  }

  /// The account was signed out or in while the provider answered: the answer's token belongs to no account.
  private mutating func revoke(_ run: RunID, _ answer: ExchangeIntent) -> [Effect] {
    if heldAnswer?.epoch == answer.epoch { leftover = .nothing }
    return go(run, to: .revokeOvertaken(answer))
  }
}
