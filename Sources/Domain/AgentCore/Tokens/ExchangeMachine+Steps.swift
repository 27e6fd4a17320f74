public import AgentModel

/// The reports of runs, and their next steps.
extension ExchangeMachine {
  /// Finishes what an earlier run left before a new request; it needs no place in the queue.
  mutating func takeUp(_ run: RunID) -> [Effect] {
    guard let grant else { return go(run, to: .end) }
    return switch unfinished.takeNext(in: grant.epoch) {
    case .revoke(let overtaken): go(run, to: .revokeHeld(overtaken))
    case .stage(let held): go(run, to: .stage(held))
    case .settle(let intent, let failure): fail(run, failure, intent)
    case nil: go(run, to: .queue)
    }
  }

  /// The outcome of the run's current step. One of another step changes nothing.
  public mutating func completed(_ run: RunID, _ outcome: Outcome) -> [Effect] {
    guard let step = step(of: run) else { return [] }
    switch (step, outcome) {
    case (.revokeHeld, .heldWasRevoked): return takeUp(run)
    case (.queue, .queued(let isAdmitted)):
      runs[run]?.isInQueue = isAdmitted
      guard isAdmitted, let attempt = attempt(of: run) else { return go(run, to: .end) }
      return go(run, to: .prepare(attempt))
    case (.queue, .providerIsSilent): return fail(run, .notAnswering, nil)
    case (.prepare, .prepared(.ready(let intent))): return go(run, to: .connect(intent))
    case (.prepare, .prepared(.graceElapsed)): return fail(run, .graceElapsed, nil)
    case (.prepare, .prepared(.storeFailed)): return fail(run, .store, nil)
    case (.prepare, .prepared(.noRefreshToken)):
      return failUnsent(run, .reauthenticate(reason: TokenMachine.noRefreshToken))
    case (_, .sent(let reply)): return sent(run, step, reply)
    case (.stage(let answer), .staged(let staging)): return staged(run, answer, staging)
    case (.judge(let answer), .judged(let judgement)): return judged(run, answer, judgement)
    case (.disown(let answer, let reason), .disowned):
      // Nothing of the answer belongs to this account, and neither does the token that it was asked with.
      unfinished.forget(answer)
      let counts = attempt(of: run, epoch: answer.epoch) != nil
      return (counts ? [.forgetRefreshToken] : []) + fail(run, .reauthenticate(reason: reason), answer)
    case (.commit(let answer), .committed(let commitment)): return committed(run, answer, commitment)
    case (.adopt(let answer, _), .adopted(let hasToken)): return adopted(run, answer, hasToken: hasToken)
    case (.settle(let intent, let failure, _, _), .settled):
      guard let attempt = attempt(of: run, epoch: intent?.epoch) else { return leave(run, failure, intent) }
      return conclude(run, failure, attempt)
    case (.drop(let answer), .dropped(let staging)): return dropped(run, answer, staging)
    case (.noteUnspent, .unspentWasNoted), (.revokeOvertaken, .overtakenWasRevoked): return go(run, to: .end)
    case (.end, .ended): return ended(run)
    default: return []
    }
  }

  // MARK: the request

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

  /// True if the request may leave once more: the provider refused its proof of possession and did not process it. Its
  /// intent is in the journal, so that a death now leaves what a death after an ordinary sending leaves.
  public func mayLeaveAgain(_ run: RunID) -> Bool {
    guard case .send(let intent)? = step(of: run) else { return false }
    return attempt(of: run, epoch: intent.epoch) != nil
  }

  /// The connection has ended: with an answer, or with none.
  private mutating func sent(_ run: RunID, _ step: Step, _ reply: Reply) -> [Effect] {
    switch (step, reply) {
    // There was no connection: nothing was written.
    case (.connect, .failed(let failure)) where failure.leavesTheTokenUnspent: return fail(run, failure, nil)
    case (.connect(var intent), .failed(let failure)), (.send(var intent), .failed(let failure)):
      intent.isLeaving = true
      return fail(run, failure, intent)
    case (.connect(var intent), .answered(let sentAt)), (.send(var intent), .answered(let sentAt)):
      (intent.isLeaving, intent.boot) = (true, sentAt)
      return go(run, to: .stage(intent))
    case (.withhold(let intent, let beginning), _):
      switch beginning {
      case .durable: return leave(run, nil, intent)
      case .graceElapsed: return fail(run, .graceElapsed, nil)
      case .overtaken: return go(run, to: .end)
      case .storeFailed: return fail(run, .store, nil)
      case .unmarked: return fail(run, .store, intent)
      }
    default: return []
    }
  }

  // MARK: an answer

  private mutating func staged(_ run: RunID, _ answer: ExchangeIntent, _ staging: Staging) -> [Effect] {
    switch staging {
    // One that no longer counts is on the disk: the next loading finds it.
    case .staged: return go(run, to: attempt(of: run, epoch: answer.epoch) == nil ? .end : .judge(answer))
    case .dropped: return giveUp(run, answer)
    case .overtaken: return revoke(run, answer)
    case .storeFailed: return hold(run, answer)
    }
  }

  private mutating func judged(_ run: RunID, _ answer: ExchangeIntent, _ judgement: Judgement) -> [Effect] {
    switch judgement {
    case .usable: return go(run, to: .commit(answer))
    case .unreadable:
      unfinished.forget(answer)
      return fail(run, .unknownOutcome("unreadableAnswer"), answer)
    case .withoutTokens:
      unfinished.forget(answer)
      return fail(run, .transient(FailureClassifier.notAnOAuthAnswer, retryAfter: nil), answer)
    case .anotherPerson(let reason): return go(run, to: .disown(answer, reason: reason))
    }
  }

  private mutating func committed(_ run: RunID, _ answer: ExchangeIntent, _ commitment: Commitment) -> [Effect] {
    switch commitment {
    case .overtaken: return go(run, to: .end)
    case .vaultLocked: return giveUp(run, answer)
    case .storeFailed: return hold(run, answer)
    case .durable:
      guard let attempt = attempt(of: run, epoch: answer.epoch) else { return go(run, to: .end) }
      unfinished.leftover = .nothing
      grant?.uncertain = nil
      return go(run, to: .adopt(answer, takesToken: answer.key == attempt.key))
    }
  }

  /// Published before the callers are told, so that a later `token.get` returns no older token.
  private mutating func adopted(_ run: RunID, _ answer: ExchangeIntent, hasToken: Bool) -> [Effect] {
    guard let attempt = attempt(of: run, epoch: answer.epoch) else { return go(run, to: .end) }
    grant?.attempt = nil
    let told: [Effect] =
      hasToken
      ? [
        .report(.token(attempt: attempt.number)), .publish, .tellScopes, .tellRights, .tellRefreshed, .answerWaiters,
      ] : [.tellRights, .report(.noToken(attempt: attempt.number)), .publish]
    return told + [.askAboutRights] + go(run, to: .end)
  }

  /// The result of dropping the held answer when the vault was locked. An answer that the inbox can't take stays.
  private mutating func dropped(_ run: RunID, _ answer: ExchangeIntent, _ staging: Staging) -> [Effect] {
    switch staging {
    case .storeFailed: return go(run, to: .end)
    case .overtaken: return revoke(run, answer)
    case .staged, .dropped:
      if grant == nil { unfinished.forget(answer) }
      return go(run, to: .end)
    }
  }

  /// The next attempt has waited for this end. A run that a sign-in has overtaken holds nothing up.
  private mutating func ended(_ run: RunID) -> [Effect] {
    guard let ended = runs.removeValue(forKey: run) else { return [] }
    if runs.isEmpty { runs = [:] }  // an empty table keeps its memory: 900 bytes of each account
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
    let end = grant?.journalEnd(after: failure, of: intent) ?? .done
    return logged + go(run, to: .settle(intent, failure, attempt: attempt.number, end))
  }

  /// Nothing was sent, and what that means for the grant is durable all the same.
  private mutating func failUnsent(_ run: RunID, _ failure: ExchangeFailure) -> [Effect] {
    guard let attempt = attempt(of: run) else { return leave(run, failure, nil) }
    return [.logFailure(failure, attempt: attempt.number)]
      + go(run, to: .settle(nil, failure, attempt: attempt.number, .done))
  }

  private mutating func conclude(
    _ run: RunID, _ failure: ExchangeFailure, _ attempt: TokenMachine.Attempt
  ) -> [Effect] {
    grant?.attempt = nil
    return [.report(.failure(failure, attempt: attempt.number)), .publish] + go(run, to: .end)
  }

  /// The vault was locked before the journal was told: it is told after the unlocking. If the agent ends before that, a
  /// token that was not spent must not be taken for one that was.
  private mutating func leave(_ run: RunID, _ failure: ExchangeFailure?, _ intent: ExchangeIntent?) -> [Effect] {
    guard grant == nil, current == run, let intent else { return go(run, to: .end) }
    if unfinished.heldAnswer == nil { unfinished.leftover = .outcome(intent, failure) }
    let isUnspent = !intent.isReplay && failure?.leavesTheTokenUnspent ?? true
    return go(run, to: isUnspent ? .noteUnspent(intent) : .end)
  }

  /// The disk can't take the answer now: it stays in guarded memory, and with it nothing is in doubt.
  private mutating func hold(_ run: RunID, _ answer: ExchangeIntent) -> [Effect] {
    // One that a sign-in has overtaken must not take the place of the new grant's.
    if let held = unfinished.heldAnswer, held.epoch > answer.epoch {
      unfinished.overtakenAnswer = answer
      return fail(run, .store, nil)
    }
    unfinished.hold(answer, runs: runs.values)
    let attempt = attempt(of: run, epoch: answer.epoch)
    return (attempt.map { [.report(.held(attempt: $0.number))] } ?? []) + fail(run, .store, nil)
  }

  /// The vault was locked, and the answer is on the disk: the memory of before is of no use, if it is still there.
  private mutating func giveUp(_ run: RunID, _ answer: ExchangeIntent) -> [Effect] {
    // Unlocked again, and loaded with that answer: the attempt that waits goes on with it.
    if grant != nil, unfinished.heldAnswer?.nonce == answer.nonce { return go(run, to: .end) }
    grant = nil
    unfinished.forget(answer)
    return [.release] + go(run, to: .end)
  }

  /// The account was signed out or in while the provider answered: the answer's token belongs to no account.
  private mutating func revoke(_ run: RunID, _ answer: ExchangeIntent) -> [Effect] {
    if unfinished.heldAnswer?.epoch == answer.epoch { unfinished.leftover = .nothing }
    return go(run, to: .revokeOvertaken(answer))
  }
}
