public import AgentModel

/// The outcomes of exchanges.
extension TokenMachine {
  /// The request is about to leave; it may have stood in line since it began. False if it must not be sent any more,
  /// since a provider forgives a second use only for a while.
  public mutating func sending(attempt number: UInt64, at now: BootInstant) -> Bool {
    guard let attempt = exchange, attempt.number == number else { return false }  // I3
    if attempt.isReplay, !isForgiven(at: now) {
      lost?.replayIsSpent = false  // it was not sent, and `replayLast` may allow it later
      return false
    }
    exchange?.startedAt = now
    return true
  }

  /// The exchange brought a token, and it is durable.
  public mutating func exchangeSucceeded(attempt number: UInt64, token: TokenFacts, at now: BootInstant) -> [Effect] {
    guard let attempt = exchange, attempt.number == number else { return [] }  // I3
    exchange = nil
    emptyExchanges = 0
    forgetFailures()
    let wasRejected = waiters.contains { waiter in
      if waiter.key == attempt.key, case .replacing = waiter.demand { true } else { false }
    }
    audiences.renew(attempt.key, with: token, wasRejected: wasRejected, at: now)
    var effects = setHealth(.ok) + [.stateChanged]
    effects += takeWaiters(for: attempt.key).map { .answer($0.id, serial: token.serial, .refreshed) }
    return effects + beginNext(at: now)
  }

  /// The exchange brought none. `jitter` is a fraction from 0 up to 1.
  public mutating func exchangeFailed(
    attempt number: UInt64, _ failure: ExchangeFailure, at now: BootInstant, jitter: Double
  ) -> [Effect] {
    guard let attempt = exchange, attempt.number == number else { return [] }  // I3
    exchange = nil
    var effects: [Effect]
    if case .unknownOutcome(let reason, let retryAfter) = failure, rule.reuse != .none {
      effects = answerWasLost(attempt, at: now)
      // A server that has trouble is not asked again at once: the replay would meet the same trouble.
      if reason.hasPrefix("status") {
        hold(failure, for: max(retryAfter ?? .zero, pauseBeforeReplay(at: now)), at: now)
      }
      if mayReplay(at: now) { return effects + beginNext(at: now) }  // the waiters wait for the replay
    } else {
      effects = learn(from: failure, of: attempt, at: now, jitter: jitter)
    }
    let refused = refusal(for: attempt.key, nil, at: now) ?? Self.refusal(failure, pause: .zero)
    effects += refuseWaiters(for: attempt.key, refused, at: now)
    return effects + beginNext(at: now)
  }

  /// The exchange renewed the grant, but brought no token that can be used now: once, what was recovered is too old,
  /// and the next exchange brings one; a provider that does so again is asked no faster than one that fails.
  public mutating func exchangeBroughtNoToken(attempt number: UInt64, at now: BootInstant) -> [Effect] {
    guard let attempt = exchange, attempt.number == number else { return [] }  // I3
    exchange = nil
    lost = nil
    emptyExchanges += 1
    var effects = setHealth(.ok) + [.stateChanged]
    if emptyExchanges > 1 {
      let failure = ExchangeFailure.transient(Self.noUsableToken, retryAfter: nil)
      let pause = backoff(1)
      hold(failure, for: pause, at: now)
      effects += refuseWaiters(for: attempt.key, Self.refusal(failure, pause: pause), at: now)
    }
    return effects + beginNext(at: now)
  }

  /// The answer came and could not be kept yet: nothing is in doubt any more, also if this attempt fails.
  public mutating func answerIsHeld(attempt number: UInt64) -> [Effect] {
    guard exchange?.number == number else { return [] }  // I3
    exchange?.isReplay = false
    lost = nil
    return health == .unknown ? setHealth(.ok) : []
  }

  // MARK: after a restart

  /// The agent ended between sending a refresh token and keeping the answer. `sentAt` is nil if the machine was booted
  /// since: the elapsed time is then unknown.
  public mutating func recoveredWithoutAnswer(
    sentAt: BootInstant?, wasReplay: Bool, at now: BootInstant
  ) -> [Effect] {
    guard rule.reuse != .none else { return [] }
    lost = LostRequest(sentAt: sentAt, replayIsSpent: wasReplay)
    return setHealth(.unknown, tellPerson: !mayRecover(at: now))
  }

  /// The agent ended after the answer was durable and before it was judged: going on with it is an exchange like any
  /// other, which callers join.
  public mutating func recoveredWithAnswer(for key: TokenKey, at now: BootInstant) -> [Effect] {
    begin(key, at: now)
  }

  // MARK: what is remembered

  private mutating func answerWasLost(_ attempt: Attempt, at now: BootInstant) -> [Effect] {
    if !attempt.isReplay { lost = LostRequest(sentAt: attempt.startedAt, replayIsSpent: false) }
    let effects = setHealth(.unknown, tellPerson: !mayRecover(at: now))
    return attempt.isReplay ? effects + [.sessionExpired(reason: Self.outcomeUnknown)] : effects
  }

  /// What a failure means for later requests: for all of them, or for those of its audience.
  private mutating func learn(
    from failure: ExchangeFailure, of attempt: Attempt, at now: BootInstant, jitter: Double
  ) -> [Effect] {
    switch failure {
    case .unexplained where attempt.isReplay, .interaction where attempt.isReplay,
      .misconfigured where attempt.isReplay:
      // The one replay was answered, and not with what became of the first request: I4, the doubt stands.
      return [.stateChanged, .sessionExpired(reason: Self.outcomeUnknown)]
    case .reauthenticate(let reason): return stand(.reauthenticate(reason: reason), at: now)
    case .locked: return stand(.locked, at: now)
    case .misconfigured(let error) where attempt.key != .standard && Self.concernsTheRequest(error):
      // A refused scope of one program must not stop the account for all the others.
      audiences.reject(attempt.key, failure, for: Self.rejectionPause, at: now)
      return []
    case .misconfigured(let error): return stand(.misconfigured(error), at: now)
    case .interaction(let claims):
      audiences[attempt.key].interaction = Interaction(claims: claims, heardAt: now)
      return [.persistHealth, .stateChanged]
    case .unexplained where attempt.key == .standard: return grantWasRefused(failure, at: now, jitter: jitter)
    case .unexplained: return requestWasRefused(attempt.key, failure, at: now, jitter: jitter)
    case .transient(let reason, let retryAfter):
      var pause = retryAfter.map { max($0, Backoff.shortest) } ?? backoff(jitter)
      if reason == FailureClassifier.word(of: 500) { pause = max(pause, Self.internalErrorPause) }
      if attempt.isReplay {
        lost?.replayIsSpent = false  // the provider did not serve the request
        pause = max(pause, pauseBeforeReplay(at: now))
      }
      hold(failure, for: pause, at: now)
      return [.persistHealth, .stateChanged]
    case .unknownOutcome:
      // Refresh tokens are not rotated, so that the lost answer cost nothing.
      hold(failure, for: backoff(jitter), at: now)
      return []
    case .offline, .untrustedServer, .store:
      // Nothing was sent, so the right to one replay is not spent.
      if attempt.isReplay { lost?.replayIsSpent = false }
      hold(failure, for: failure == .store ? Self.storePause : backoff(jitter), at: now)
      return [.stateChanged]
    }
  }

  /// An error that the agent does not know, for the standard token: at first it is taken for a temporary one.
  private mutating func grantWasRefused(_ failure: ExchangeFailure, at now: BootInstant, jitter: Double) -> [Effect] {
    guard patience?.unexplained ?? 0 < Self.mostUnexplained else {
      patience?.unexplained += 1
      return stand(.reauthenticate(reason: Self.unexplainedRefusal), at: now)
    }
    hold(failure, for: Self.pause(after: failure, failures: failures + 2, jitter), at: now)
    return [.persistHealth, .stateChanged]
  }

  /// An error that the agent does not know, for another audience. Whether the request is odd or the grant dead shows
  /// itself at what the sign-in was given.
  private mutating func requestWasRefused(
    _ key: TokenKey, _ failure: ExchangeFailure, at now: BootInstant, jitter: Double
  ) -> [Effect] {
    let times = audiences[key].rejections + 1
    audiences.reject(key, failure, for: Self.pause(after: failure, failures: times + 1, jitter), at: now)
    guard times > Self.mostUnexplained, refusal(for: .standard, nil, at: now) == nil else { return [] }
    return begin(.standard, at: now)
  }

  /// The provider refused in a way that time does not mend.
  /// The provider answered: an earlier failure that asked for patience is over.
  private mutating func stand(_ new: Health, at now: BootInstant) -> [Effect] {
    heardAt = now
    patience = nil
    return setHealth(new)
  }

  private mutating func hold(_ failure: ExchangeFailure, for pause: Milliseconds, at now: BootInstant) {
    let isUnexplained = if case .unexplained = failure { true } else { false }
    patience = TokenMemory.Patience(
      until: now + pause, failure: failure, failures: failures + 1,
      unexplained: (patience?.unexplained ?? 0) + (isUnexplained ? 1 : 0))
  }

  private func backoff(_ jitter: Double) -> Milliseconds { Backoff.pause(failures: failures + 1, jitter: jitter) }

  /// Never zero: a provider whose answers can't be understood is not asked again at once. A page comes from a portal, a
  /// proxy or a gateway, which takes longer to get out of the way.
  private static func pause(after failure: ExchangeFailure, failures: Int, _ jitter: Double) -> Milliseconds {
    let shortest =
      if case .unexplained(_, isPage: true) = failure { pagePause * Int64(failures) } else { Backoff.shortest }
    return max(shortest, Backoff.pause(failures: failures, jitter: jitter))
  }

  /// Times the number of failures in a row: a page that still comes after two and a half minutes is taken for
  /// the provider's.
  static let pagePause = Milliseconds.seconds(30)

  /// A provider that failed inside may need more than a moment, and a second internal error counts as a lost answer.
  static let internalErrorPause = Milliseconds.seconds(5)

  /// Before a replay to a server that has trouble: long enough for a restart, and within the grace, if there is one.
  private func pauseBeforeReplay(at now: BootInstant) -> Milliseconds {
    let pause = Milliseconds.seconds(30)
    guard rule.reuse == .grace, let sentAt = lost?.sentAt else { return pause }
    let left = sentAt + Milliseconds.seconds(rule.graceSeconds) / 2 - now
    return left > .zero ? min(pause, left / 2) : pause
  }

  /// After a failure of the store, which callers are told, too: a disk that has room again is found at once, and a dead
  /// one is not tried by every call.
  public static let storePause = Milliseconds.seconds(1)

  /// After so many refusals that the agent can't explain, the next one is taken for the end of the grant.
  private static let mostUnexplained = 2

  /// How long a rejected request is refused from memory: a program that asks in a loop must not reach the provider each
  /// time.
  private static let rejectionPause = Milliseconds.seconds(60)

  /// RFC 6749 §5.2 and RFC 8707 §2: the token was good, what was asked for with it was not.
  private static func concernsTheRequest(_ error: String) -> Bool {
    error == "invalid_scope" || error == "invalid_target"
  }
}
