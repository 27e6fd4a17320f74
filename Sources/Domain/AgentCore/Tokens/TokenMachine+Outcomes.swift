public import AgentModel

/// The outcomes of exchanges.
extension TokenMachine {
  /// The request is about to leave; it may have stood in line since it began. False if it must not be sent any more,
  /// since a provider forgives a second use only for a while.
  public mutating func sending(attempt number: UInt64, at now: BootInstant) -> Bool {
    guard let attempt = exchange, attempt.number == number else { return false }  // I3
    guard grant.maySend(attempt, at: now) else { return false }
    exchange?.startedAt = now
    return true
  }

  /// The exchange brought a token, and it is durable.
  public mutating func exchangeSucceeded(attempt number: UInt64, token: TokenFacts, at now: BootInstant) -> [Effect] {
    guard let attempt = exchange, attempt.number == number else { return [] }  // I3
    exchange = nil
    emptyExchanges = 0
    grant.forgetFailures()
    grant.audiences.renew(attempt.key, with: token, wasRejected: waiters.reject(attempt.key), at: now)
    var effects = grant.set(.ok)
    effects += waiters.take(for: attempt.key).map { .answer($0.id, serial: token.serial, .refreshed) }
    return effects + beginNext(at: now)
  }

  /// The exchange brought none. `jitter` is a fraction from 0 up to 1.
  public mutating func exchangeFailed(
    attempt number: UInt64, _ failure: ExchangeFailure, at now: BootInstant, jitter: Double
  ) -> [Effect] {
    guard let attempt = exchange, attempt.number == number else { return [] }  // I3
    exchange = nil
    if failsAlone(failure, of: attempt, at: now) {
      return refuseWaiters(for: attempt.key, .misconfigured(Self.noRefreshToken), at: now) + beginNext(at: now)
    }
    // A server refused the token, and there is no other: it is not served on.
    if failure == .reauthenticate(reason: Self.noRefreshToken), waiters.reject(attempt.key) {
      grant.audiences.retireToken(of: attempt.key)
    }
    var effects: [Effect]
    if case .unknownOutcome = failure, grant.replay.lostAnswersCount {
      effects = grant.answerWasLost(attempt, failure, at: now, jitter: jitter)
      if grant.mayReplay(at: now) { return effects + beginNext(at: now) }  // the waiters wait for the replay
    } else {
      let isDoubtful = grant.isDoubtful(after: failure, of: attempt, at: now)
      effects = grant.learn(from: failure, of: attempt, at: now, jitter: jitter)
      if isDoubtful, grant.refusal(for: .standard, nil, at: now) == nil { effects += begin(.standard, at: now) }
    }
    let refused = grant.refusalOfWaiters(for: attempt.key, at: now) ?? Refusal(failure, pause: .zero)
    effects += refuseWaiters(for: attempt.key, refused, at: now)
    return effects + beginNext(at: now)
  }

  /// True if the grant can't serve the request of this attempt, and that says nothing of the grant: there is no refresh
  /// token, nothing was sent, and the token of the sign-in serves on.
  public func failsAlone(_ failure: ExchangeFailure, attempt number: UInt64, at now: BootInstant) -> Bool {
    guard let attempt = exchange, attempt.number == number else { return false }
    return failsAlone(failure, of: attempt, at: now)
  }

  private func failsAlone(_ failure: ExchangeFailure, of attempt: Attempt, at now: BootInstant) -> Bool {
    failure == .reauthenticate(reason: Self.noRefreshToken) && !waiters.reject(attempt.key)
      && grant.audiences[.standard].liveToken(at: now) != nil
  }

  /// The exchange renewed the grant, but brought no token that can be used now: once, what was recovered is too old,
  /// and the next exchange brings one; a provider that does so again is asked no faster than one that fails.
  public mutating func exchangeBroughtNoToken(attempt number: UInt64, at now: BootInstant) -> [Effect] {
    guard let attempt = exchange, attempt.number == number else { return [] }  // I3
    exchange = nil
    grant.replay.forget()
    emptyExchanges += 1
    var effects = grant.set(.ok)
    if emptyExchanges > 1 {
      let failure = ExchangeFailure.transient(Self.noUsableToken, retryAfter: nil)
      let pause = grant.pause.backoff(1)
      grant.pause.hold(failure, for: pause, at: now)
      effects += refuseWaiters(for: attempt.key, Refusal(failure, pause: pause), at: now)
    }
    return effects + beginNext(at: now)
  }

  /// The exchange renewed the grant, but brought a bearer token where only bound ones are served. The provider answers
  /// so until a person changes its configuration or the agent's.
  public mutating func exchangeBroughtUnboundToken(attempt number: UInt64, at now: BootInstant) -> [Effect] {
    guard let attempt = exchange, attempt.number == number else { return [] }  // I3
    exchange = nil
    grant.replay.forget()
    var effects = grant.refuseBearerTokens(at: now)
    effects += refuseWaiters(for: attempt.key, Refusal(.misconfigured(Self.notBound), pause: .zero), at: now)
    return effects + beginNext(at: now)
  }

  /// The answer came and could not be kept yet: nothing is in doubt any more, also if this attempt fails.
  public mutating func answerIsHeld(attempt number: UInt64) -> [Effect] {
    guard exchange?.number == number else { return [] }  // I3
    exchange?.isReplay = false
    grant.replay.forget()
    return health == .unknown ? grant.set(.ok) : []
  }

  // MARK: after a restart

  /// The agent ended between sending a refresh token and keeping the answer. `sentAt` is nil if the machine was booted
  /// since: the elapsed time is then unknown.
  public mutating func recoveredWithoutAnswer(
    sentAt: BootInstant?, lostReplays: Int, at now: BootInstant, jitter: Double
  ) -> [Effect] {
    guard grant.replay.lostAnswersCount else { return [] }
    grant.replay.wasFoundLost(sentAt: sentAt, lostReplays: lostReplays, at: now, jitter: jitter)
    return grant.set(.unknown)
  }

  /// The agent ended after the answer was durable and before it was judged: going on with it is an exchange like any
  /// other, which callers join.
  public mutating func recoveredWithAnswer(for key: TokenKey, at now: BootInstant) -> [Effect] {
    begin(key, at: now)
  }
}
