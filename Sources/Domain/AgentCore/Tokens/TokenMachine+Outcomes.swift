public import AgentModel

/// The outcomes of exchanges.
extension TokenMachine {
  /// The request is about to leave; it may have stood in line since it began. False if it must not be sent any more,
  /// since a provider forgives a second use only for a while.
  public mutating func sending(attempt number: UInt64, at now: BootInstant) -> Bool {
    guard let attempt = exchange, attempt.number == number else { return false }  // I3
    if attempt.isReplay, !isForgiven(at: now) { return false }
    exchange?.startedAt = now
    return true
  }

  /// The exchange brought a token, and it is durable.
  public mutating func exchangeSucceeded(attempt number: UInt64, token: TokenFacts, at now: BootInstant) -> [Effect] {
    guard let attempt = exchange, attempt.number == number else { return [] }  // I3
    exchange = nil
    emptyExchanges = 0
    forgetFailures()
    interactions[attempt.key] = nil
    rejectedRequests[attempt.key] = nil
    retire(attempt.key)
    cache[attempt.key] = token
    forgetOldAudiences(but: attempt.key, at: now)
    let wasRejected = waiters.contains { waiter in
      if waiter.key == attempt.key, case .replacing = waiter.demand { true } else { false }
    }
    replacements[attempt.key] = wasRejected ? now : nil
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
    var effects: [Effect] = []
    switch failure {
    case .transient where attempt.isReplay, .unexplained where attempt.isReplay,
      .interaction where attempt.isReplay, .misconfigured where attempt.isReplay:
      // The one replay was answered, and not with what became of the first request: I4, the doubt stands.
      effects = [.stateChanged, .sessionExpired(reason: Self.outcomeUnknown)]
    case .reauthenticate(let reason): effects += stand(.reauthenticate(reason: reason), at: now)
    case .locked: effects += stand(.locked, at: now)
    case .misconfigured(let error) where attempt.key != .standard && Self.concernsTheWish(error):
      // A refused scope of one program must not stop the account for all the others.
      refuseWish(attempt.key, failure, for: Self.wishPause, at: now)
    case .misconfigured(let error): effects += stand(.misconfigured(error), at: now)
    case .interaction(let claims):
      interactions[attempt.key] = Interaction(claims: claims, heardAt: now)
      effects += [.persistHealth, .stateChanged]
    case .unexplained where attempt.key != .standard:
      // Whether the wish is odd or the grant dead shows itself at what the sign-in was given.
      let times = (rejectedRequests[attempt.key]?.times ?? 0) + 1
      refuseWish(attempt.key, failure, for: Self.patience(times + 1, jitter), at: now)
      if times > 2, refusal(for: .standard, nil, at: now) == nil { effects += begin(.standard, at: now) }
    case .unexplained:
      unexplained += 1
      if unexplained > 2 {
        effects += stand(.reauthenticate(reason: Self.unexplainedRefusal), at: now)
      } else {
        hold(failure, until: now + Self.patience(failures + 2, jitter))
        effects += [.persistHealth, .stateChanged]
      }
    case .unknownOutcome:
      if rule.reuse == .none {
        hold(failure, until: now + Backoff.pause(failures: failures + 1, jitter: jitter))
      } else {
        if !attempt.isReplay { lost = LostRequest(sentAt: attempt.startedAt, replayIsSpent: false) }
        effects += setHealth(.unknown, tellPerson: !mayReplay(at: now))
        if mayReplay(at: now) { return effects + beginNext(at: now) }  // the waiters wait for the replay
        if attempt.isReplay { effects.append(.sessionExpired(reason: Self.outcomeUnknown)) }
      }
    case .transient(_, let retryAfter):
      hold(
        failure,
        until: now
          + (retryAfter.map { max($0, Backoff.shortest) } ?? Backoff.pause(failures: failures + 1, jitter: jitter)))
      effects += [.persistHealth, .stateChanged]
    case .offline, .untrustedServer, .store:
      // Nothing was sent, so the right to one replay is not spent.
      if attempt.isReplay { lost?.replayIsSpent = false }
      hold(failure, until: now + Backoff.pause(failures: failures + 1, jitter: jitter))
      effects.append(.stateChanged)
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
      let failure = ExchangeFailure.transient("noUsableToken", retryAfter: nil)
      let wait = Backoff.pause(failures: failures + 1, jitter: 1)
      hold(failure, until: now + wait)
      effects += refuseWaiters(for: attempt.key, Self.refusal(failure, pause: wait), at: now)
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
    return setHealth(.unknown, tellPerson: !mayReplay(at: now))
  }

  /// The agent ended after the answer was durable and before it was judged: going on with it is an exchange like any
  /// other, which callers join.
  public mutating func recoveredWithAnswer(for key: TokenKey, at now: BootInstant) -> [Effect] {
    begin(key, at: now)
  }

  // MARK: what is remembered

  /// The provider refused in a way that time does not mend.
  private mutating func stand(_ new: Health, at now: BootInstant) -> [Effect] {
    heardAt = now
    return setHealth(new)
  }

  private mutating func hold(_ failure: ExchangeFailure, until instant: BootInstant) {
    failures += 1
    pause = Pause(until: instant, refusal: failure)
  }

  private mutating func refuseWish(
    _ key: TokenKey, _ failure: ExchangeFailure, for pause: Milliseconds, at now: BootInstant
  ) {
    let times = (rejectedRequests[key]?.times ?? 0) + 1
    // How often it was refused is remembered for a while beyond the pause.
    rejectedRequests = rejectedRequests.filter { now < $0.value.pause.until + Self.wishMemory }
    rejectedRequests[key] = RejectedRequest(pause: Pause(until: now + pause, refusal: failure), times: times)
  }

  /// Never zero: a provider whose answers can't be understood is not asked again at once.
  private static func patience(_ failures: Int, _ jitter: Double) -> Milliseconds {
    max(Backoff.shortest, Backoff.pause(failures: failures, jitter: jitter))
  }

  /// How long a wish that was refused is refused from memory: a program that asks in a loop must not reach the
  /// provider each time.
  static let wishPause = Milliseconds.seconds(60)
  private static let wishMemory = Milliseconds.seconds(600)

  /// RFC 6749 §5.2 and RFC 8707 §2: the token was good, what was asked for with it was not.
  private static func concernsTheWish(_ error: String) -> Bool { error == "invalid_scope" || error == "invalid_target" }

  /// Callers choose audiences and scopes freely; what is remembered of them is bounded.
  /// The token that has just come is kept in any case: its waiters are about to be answered with it.
  private mutating func forgetOldAudiences(but newest: TokenKey, at now: BootInstant) {
    cache = cache.filter { $0.key == .standard || $0.key == newest || now < $0.value.expiresAt }
    interactions = interactions.count > Self.mostAudiences ? [:] : interactions
    replacements = replacements.filter { now < $0.value + Self.breakerWindow }
    while cache.count > Self.mostAudiences {
      let soonest = cache.filter { $0.key != .standard && $0.key != newest }.min {
        ($0.value.expiresAt, $0.value.serial) < ($1.value.expiresAt, $1.value.serial)
      }
      guard let soonest else { break }
      cache[soonest.key] = nil
    }
    lastWanted = lastWanted.filter { cache[$0.key] != nil }
  }

  /// More audiences of one account than programs have; a token that is forgotten costs one exchange.
  static let mostAudiences = 64

  private mutating func retire(_ key: TokenKey) {
    guard let old = cache[key] else { return }
    retired.append((old.fingerprint, key))
    if retired.count > Self.mostAudiences { retired.removeFirst() }
  }
}
