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

  public static let outcomeUnknown = "outcomeUnknown"
  public static let unexplainedRefusal = "unexplainedRefusal"
  /// The reasons for which the refresh token is still there and may be tried again.
  static let revocableReasons: Set<String> = ["refused", unexplainedRefusal]

  /// The refusal of an exchange for this key now; nil if nothing prevents one. Without a demand: for no caller in
  /// particular.
  func refusal(for key: TokenKey, _ demand: Demand?, at now: BootInstant) -> Refusal? {
    switch health {
    case .signedOut: return .signedOut
    case .reauthenticate(let reason):
      let isRevocable = Self.revocableReasons.contains(reason)
      if !isRevocable || !mayAskAgain(demand, since: heardAt, at: now) { return .reauthenticate(reason: reason) }
    case .unknown where !mayReplay(at: now): return .reauthenticate(reason: Self.outcomeUnknown)  // I4
    case .locked: if !mayAskAgain(demand, since: heardAt, mended: true, at: now) { return .locked }
    case .misconfigured(let error):
      if !mayAskAgain(demand, since: heardAt, mended: true, at: now) { return .misconfigured(error) }
    case .ok, .unknown: break
    }
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
    if audiences[key].interaction != nil { return true }
    return switch health {
    case .ok: false
    case .unknown: !mayReplay(at: now)
    case .reauthenticate, .locked, .misconfigured, .signedOut: true
    }
  }

  private func mayAskAgain(
    _ demand: Demand?, since heardAt: BootInstant?, mended: Bool = false, at now: BootInstant
  ) -> Bool {
    guard let heardAt, lost == nil else { return false }  // I4
    switch demand {
    case .forced: return now >= heardAt + Self.recheckWhenForced
    case .usable: return mended && now >= heardAt + Self.recheckWhenAsked
    case .replacing, nil: return false
    }
  }

  /// May the refresh token of the lost request be sent once more? `grace(n)` forgives it for n seconds, and half of
  /// them leaves room for the way there; `replayOnce` is the explicit choice in the provider's configuration.
  func mayReplay(at now: BootInstant) -> Bool { lost?.replayIsSpent == false && isForgiven(at: now) }

  func isForgiven(at now: BootInstant) -> Bool {
    guard let lost else { return false }
    switch (rule.reuse, rule.onUnknownOutcome) {
    case (.none, _), (.strict, .replayOnce): return true
    case (.grace, _): return lost.sentAt.map { now < $0 + Milliseconds.seconds(rule.graceSeconds) / 2 } ?? false
    case (.strict, .reauthenticate): return false
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
    let token = audiences[key].liveToken(at: now)
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
