internal import AgentModel

/// What failures of exchanges mean for later requests.
extension GrantState {
  /// What a failure is taken for, seen with the one before it.
  public func judged(_ failure: ExchangeFailure) -> ExchangeFailure {
    replay.judged(failure, after: pause.patience?.failure)
  }

  /// The outcome of this attempt is unknown.
  mutating func answerWasLost(
    _ attempt: TokenMachine.Attempt, _ failure: ExchangeFailure, at now: BootInstant, jitter: Double
  ) -> [TokenMachine.Effect] {
    guard case .unknownOutcome(let reason, let retryAfter) = failure else { return [] }
    // It was not sent: the right to a replay is as before.
    guard failure != .graceElapsed else { return set(.unknown) }
    replay.answerWasLost(
      sentAt: attempt.startedAt, wasReplay: attempt.isReplay, isUnclear: failure.isUnclearAnswer,
      notBefore: retryAfter ?? .zero, at: now, jitter: jitter)
    let effects = set(.unknown)
    // A server that has trouble is not asked again at once: the replay would meet the same trouble.
    if reason.hasPrefix("status") {
      let length = max(retryAfter ?? .zero, replay.pause(at: now))
      pause.hold(
        failure, for: length, callers: max(retryAfter ?? .zero, Backoff.forCallers(length, jitter: jitter)), at: now)
    }
    return effects
  }

  /// What a failure means for later requests: for all of them, or for those of its audience.
  mutating func learn(
    from failure: ExchangeFailure, of attempt: TokenMachine.Attempt, at now: BootInstant, jitter: Double
  ) -> [TokenMachine.Effect] {
    switch failure {
    case .unexplained where attempt.isReplay, .interaction where attempt.isReplay,
      .misconfigured where attempt.isReplay:
      // The one replay was answered, and not with what became of the first request: I4, the doubt stands.
      return []
    case .reauthenticate(let reason): return stand(.reauthenticate(reason: reason), at: now)
    case .locked: return stand(.locked, at: now)
    case .misconfigured(let error) where attempt.key != .standard && Self.concernsTheRequest(error):
      // A refused scope of one program must not stop the account for all the others.
      audiences.reject(attempt.key, failure, for: RetryPause.afterRejection, at: now)
      return []
    case .misconfigured(let error): return stand(.misconfigured(error), at: now)
    case .interaction(let claims):
      audiences[attempt.key].interaction = TokenMachine.Interaction(claims: claims, heardAt: now)
      return [.persistHealth]
    case .unexplained where attempt.key == .standard: return grantWasRefused(failure, at: now, jitter: jitter)
    case .unexplained:
      let failures = audiences[attempt.key].rejections + 2
      let length = RetryPause.length(after: failure, failures: failures, jitter)
      audiences.reject(
        attempt.key, failure, for: length, callers: Backoff.forCallers(length, jitter: jitter), at: now)
      return []
    case .transient(let reason, let retryAfter):
      var length = retryAfter.map { Backoff.spread($0, jitter: jitter) } ?? pause.backoff(jitter)
      if reason == FailureClassifier.word(of: 500) { length = max(length, RetryPause.afterInternalError) }
      if attempt.isReplay {
        replay.giveBack()  // the provider did not serve the request
        length = max(length, replay.pause(at: now))
      }
      // A caller that waits is told the provider's own time, and of a secret when the next question may be asked.
      let callers = max(
        retryAfter.map { max($0, Backoff.shortest) } ?? Backoff.forCallers(length, jitter: jitter),
        restOfMinute(after: attempt, at: now))
      pause.hold(failure, for: max(length, callers), callers: callers, at: now)
      return [.persistHealth]
    case .unknownOutcome:
      // Refresh tokens are not rotated, so that the lost answer cost nothing.
      hold(failure, at: now, jitter: jitter)
      return []
    case .offline, .untrustedServer, .store:
      // Nothing was sent, so the right to one replay is not spent.
      if attempt.isReplay { replay.giveBack() }
      if failure == .store {
        pause.hold(failure, for: TokenMachine.storePause, at: now)
      } else {
        hold(failure, at: now, jitter: jitter)
      }
      return []
    }
  }

  /// The pause after a failure whose end the provider did not tell.
  private mutating func hold(_ failure: ExchangeFailure, at now: BootInstant, jitter: Double) {
    let length = pause.backoff(jitter)
    pause.hold(failure, for: length, callers: Backoff.forCallers(length, jitter: jitter), at: now)
  }

  /// The provider refused requests for this audience with errors that the agent does not know so often that the grant
  /// may be dead. Whether the request is odd or the grant dead shows itself at what the sign-in was given.
  ///
  /// Asked before `learn`. A page that a caller meets before the end of the pause decides nothing.
  func isDoubtful(after failure: ExchangeFailure, of attempt: TokenMachine.Attempt, at now: BootInstant) -> Bool {
    guard failure.isUnexplained, !attempt.isReplay, attempt.key != .standard,
      let rejected = audiences[attempt.key].rejectedRequest, !failure.isPage || now >= rejected.until
    else { return false }
    return rejected.times >= RetryPause.mostUnexplained
  }

  /// The provider issues bearer tokens where only bound ones are served.
  mutating func refuseBearerTokens(at now: BootInstant) -> [TokenMachine.Effect] {
    stand(.misconfigured(TokenMachine.notBound), at: now)
  }

  /// An error that the agent does not know, for the standard token: at first it is taken for a temporary one.
  private mutating func grantWasRefused(
    _ failure: ExchangeFailure, at now: BootInstant, jitter: Double
  ) -> [TokenMachine.Effect] {
    if pause.isLastUnexplained(failure, at: now) {
      return stand(.reauthenticate(reason: TokenMachine.unexplainedRefusal), at: now)
    }
    let length = RetryPause.length(after: failure, failures: pause.failures + 2, jitter)
    pause.hold(failure, for: length, callers: Backoff.forCallers(length, jitter: jitter), at: now)
    return [.persistHealth]
  }

  /// The provider refused in a way that time does not mend. It answered: an earlier failure that asked for patience is
  /// over.
  private mutating func stand(_ new: TokenMachine.Health, at now: BootInstant) -> [TokenMachine.Effect] {
    heardAt = now
    pause.forget()
    return set(new)
  }

  /// RFC 6749 §5.2 and RFC 8707 §2: the token was good, what was asked for with it was not.
  private static func concernsTheRequest(_ error: String) -> Bool {
    error == "invalid_scope" || error == "invalid_target"
  }
}
