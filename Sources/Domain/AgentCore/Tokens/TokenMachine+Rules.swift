public import AgentModel

/// The conditions that prevent an exchange, and how one begins.
extension TokenMachine {
  /// A new token that is rejected within this time opens a breaker for its audience (docs/tokens.md, Health and
  /// freshness).
  public static let breakerWindow = Milliseconds.seconds(60)

  /// I5: forced exchanges of a grant that the provider refused reach it no more often than this. A real server's
  /// `invalid_grant` may be its mistake, so the token is marked and not deleted (docs/tokens.md, Failures).
  public static let recheckWhenForced = Milliseconds.seconds(120)

  /// An account that was disabled, or a client that was misconfigured, may be mended without a word to the agent: a
  /// caller that only asks for a token finds out after this time.
  public static let recheckWhenAsked = Milliseconds.seconds(900)

  /// A refusal that the agent can't explain may come from a server between the agent and the provider: a caller that
  /// only asks for a token finds out after this time.
  public static let recheckUnexplained = recheckWhenForced

  public static let outcomeUnknown = "outcomeUnknown"
  public static let unexplainedRefusal = "unexplainedRefusal"
  public static let noUsableToken = "noUsableToken"
  /// The reasons for which the refresh token is still there and may be tried again.
  static let revocableReasons: Set<String> = ["refused", unexplainedRefusal]

  /// The refusal of an exchange for this key now; nil if nothing prevents one. Without a demand: for no caller in
  /// particular.
  func refusal(for key: TokenKey, _ demand: Demand?, at now: BootInstant) -> Refusal? {
    switch health {
    case .signedOut: return .signedOut
    case .reauthenticate(let reason):
      let isRevocable = Self.revocableReasons.contains(reason)
      let pause = reason == Self.unexplainedRefusal ? Self.recheckUnexplained : nil
      if !isRevocable || !mayAskAgain(demand, since: heardAt, whenAsked: pause, at: now) {
        return .reauthenticate(reason: reason)
      }
    case .unknown where !mayReplay(at: now):  // I4
      return lastReplay(at: now).map { .unavailable(retryAfter: $0 - now) }
        ?? .reauthenticate(reason: Self.outcomeUnknown)
    case .locked: if !mayAskAgain(demand, since: heardAt, whenAsked: Self.recheckWhenAsked, at: now) { return .locked }
    case .misconfigured(let error):
      if !mayAskAgain(demand, since: heardAt, whenAsked: Self.recheckWhenAsked, at: now) {
        return .misconfigured(error)
      }
    case .ok, .unknown: break
    }
    if isIssuedElsewhere { return .interaction(claims: nil) }
    let audience = audiences[key]
    if let interaction = audience.interaction, !mayAskAgain(demand, since: interaction.heardAt, at: now) {
      return .interaction(claims: interaction.claims)
    }
    if let rejected = audience.rejectedRequest, now < rejected.until {
      return Self.refusal(rejected.failure, pause: rejected.until - now)
    }
    if let patience, now < patience.until { return Self.refusal(patience.failure, pause: patience.until - now) }
    return nil
  }

  /// Something stands against this key that time alone does not end.
  func isRefused(_ key: TokenKey, at now: BootInstant) -> Bool {
    if isIssuedElsewhere || audiences[key].interaction != nil { return true }
    return switch health {
    case .ok: false
    case .unknown: !mayReplay(at: now)
    case .reauthenticate, .locked, .misconfigured, .signedOut: true
    }
  }

  /// `whenAsked`: the pause after which a caller that forces nothing may reach the provider; nil: it never may.
  private func mayAskAgain(
    _ demand: Demand?, since heardAt: BootInstant?, whenAsked: Milliseconds? = nil, at now: BootInstant
  ) -> Bool {
    guard let heardAt, lost == nil else { return false }  // I4
    switch demand {
    case .forced: return now >= heardAt + Self.recheckWhenForced
    case .usable: return whenAsked.map { now >= heardAt + $0 } ?? false
    case .replacing, nil: return false
    }
  }

  /// May the refresh token of the lost request be sent once more now?
  func mayReplay(at now: BootInstant) -> Bool {
    !isIssuedElsewhere && lost?.replayIsSpent == false && isForgiven(at: now)
  }

  /// `grace(n)` forgives a reuse for n seconds, and half of them leaves room for the way there; `replayOnce` is the
  /// explicit choice in the provider's configuration; `replayLast` waits until no access token is left, when the person
  /// would have to sign in anyway.
  func isForgiven(at now: BootInstant) -> Bool {
    guard let lost else { return false }
    if rule.reuse == .none || isWithinGrace(lost, at: now) { return true }
    switch rule.onUnknownOutcome {
    case .replayOnce: return rule.reuse == .strict
    case .replayLast: return lastExpiry(at: now) == nil
    case .reauthenticate, nil: return false
    }
  }

  private func isWithinGrace(_ lost: LostRequest, at now: BootInstant) -> Bool {
    guard rule.reuse == .grace, let sentAt = lost.sentAt else { return false }
    return now < sentAt + Milliseconds.seconds(rule.graceSeconds) / 2
  }

  /// When the last access token expires; nil if none lives.
  private func lastExpiry(at now: BootInstant) -> BootInstant? {
    tokens.values.map(\.expiresAt).filter { now < $0 }.max()
  }

  /// When `replayLast` allows the replay that it does not allow yet.
  private func lastReplay(at now: BootInstant) -> BootInstant? {
    guard rule.onUnknownOutcome == .replayLast, lost?.replayIsSpent == false else { return nil }
    return lastExpiry(at: now)
  }

  /// The outcome of a request is unknown, and the one replay that the rule allows is in flight or still to come.
  public func mayRecover(at now: BootInstant) -> Bool {
    exchange?.isReplay == true || mayReplay(at: now) || lastReplay(at: now) != nil
  }

  /// A gateway that got no answer in time, or a bad one, does not know what the provider behind it did: the refresh
  /// token may be spent. An internal error may come before or after it was spent: the first is taken for the one, a
  /// second in a row for the other.
  public func judged(_ failure: ExchangeFailure) -> ExchangeFailure {
    guard rule.reuse != .none, case .transient(let word, let retryAfter) = failure else { return failure }
    switch word {
    case FailureClassifier.word(of: 502), FailureClassifier.word(of: 504):
      return .unknownOutcome(word, retryAfter: retryAfter)
    case FailureClassifier.word(of: 500):
      if case .transient(word, _)? = lastFailure { return .unknownOutcome(word, retryAfter: retryAfter) }
      return failure
    default: return failure
    }
  }

  // MARK: beginning and ending

  mutating func begin(_ key: TokenKey, at now: BootInstant) -> [Effect] {
    attempts += 1
    let attempt = Attempt(number: attempts, key: key, startedAt: now, isReplay: health == .unknown)
    if attempt.isReplay { lost?.replayIsSpent = true }
    switch health {
    case .reauthenticate, .locked, .misconfigured: heardAt = now
    case .ok, .unknown, .signedOut: break
    }
    audiences[key].interaction?.heardAt = now
    exchange = attempt
    return [.exchange(attempt)]
  }

  /// The waiters of the next audience in line, or what holds them back.
  mutating func beginNext(at now: BootInstant) -> [Effect] {
    var effects: [Effect] = []
    while exchange == nil, let first = waiters.first {
      // A waiter that may reach the provider takes the other waiters for its key along.
      let mayForce = waiters.contains { $0.key == first.key && $0.demand == .forced }
      if let refusal = refusal(for: first.key, mayForce ? .forced : first.demand, at: now) {
        effects += refuseWaiters(for: first.key, refusal, at: now)
      } else {
        effects += begin(first.key, at: now)
      }
    }
    return effects
  }

  /// I2: the caller answers exactly the waiters that this removes.
  mutating func takeWaiters(for key: TokenKey? = nil) -> [Waiter] {
    let taken = waiters.filter { key == nil || $0.key == key }
    waiters.removeAll { key == nil || $0.key == key }
    return taken
  }

  /// A failure spoils nothing that still works: a waiter for a usable token gets the one that has not expired.
  mutating func refuseWaiters(for key: TokenKey, _ refusal: Refusal, at now: BootInstant) -> [Effect] {
    let token = health == .locked ? nil : audiences[key].liveToken(at: now)
    return takeWaiters(for: key).map { waiter in
      guard case .usable = waiter.demand, let token else { return .refuse(waiter.id, refusal) }
      return .answer(waiter.id, serial: token.serial, .staleOk)
    }
  }

  mutating func setHealth(_ new: Health, tellPerson: Bool = true) -> [Effect] {
    guard new != health else { return [] }
    let wasToldAlready = if case .reauthenticate = health { true } else { false }
    health = new
    var effects: [Effect] = [.persistHealth, .stateChanged]
    if case .reauthenticate(let reason) = new, !wasToldAlready { effects.append(.sessionExpired(reason: reason)) }
    if new == .unknown, tellPerson, !wasToldAlready { effects.append(.sessionExpired(reason: Self.outcomeUnknown)) }
    return effects
  }

  mutating func forgetFailures() {
    patience = nil
    lost = nil
  }

  static func refusal(_ failure: ExchangeFailure, pause: Milliseconds) -> Refusal {
    switch failure {
    case .offline: .offline(retryAfter: pause)
    case .untrustedServer(let reason): .untrustedServer(reason)
    case .transient, .unexplained, .unknownOutcome: .unavailable(retryAfter: pause)
    case .reauthenticate(let reason): .reauthenticate(reason: reason)
    case .locked: .locked
    case .interaction(let claims): .interaction(claims: claims)
    case .misconfigured(let error): .misconfigured(error)
    case .store: .store
    }
  }
}
