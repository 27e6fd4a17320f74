public import AgentModel

/// The life of one grant, as a value: what is wanted, what is known, what to do next. It performs nothing.
///
/// - I1: at most one exchange a grant is in flight, whatever scopes or audiences are asked.
/// - I2: a waiter is answered exactly once.
/// - I3: an answer to an attempt that is not the current one changes nothing.
/// - I4: a refresh token whose use has an unknown outcome is not sent again but by the provider's rule.
public struct TokenMachine: Sendable {
  public typealias WaiterID = UInt64

  /// What survives a restart.
  public enum Health: Hashable, Sendable {
    case ok
    /// A request was sent and its answer lost; on a strict provider the token may be spent.
    case unknown
    case reauthenticate(reason: String)
    case locked
    case misconfigured(String)
    case signedOut
  }

  /// What the machine must know of an issued access token; its bytes stay with the shell, under `serial`.
  public struct TokenFacts: Hashable, Sendable {
    public var serial: UInt64
    public var lifetime: Milliseconds
    public var refreshAt: BootInstant
    public var expiresAt: BootInstant
    public var fingerprint: String

    public init(
      serial: UInt64, lifetime: Milliseconds, refreshAt: BootInstant, expiresAt: BootInstant, fingerprint: String
    ) {
      self.serial = serial
      self.lifetime = lifetime
      self.refreshAt = refreshAt
      self.expiresAt = expiresAt
      self.fingerprint = fingerprint
    }

    /// Long enough for the caller; a provider's tokens that never live that long are judged by their lead instead,
    /// or each call would make an exchange.
    func serves(_ minimum: Milliseconds, at now: BootInstant) -> Bool {
      minimum < lifetime ? now + minimum <= expiresAt : now < refreshAt
    }
  }

  /// What a caller asks for.
  public enum Demand: Hashable, Sendable {
    case usable(minimumLifetime: Milliseconds)
    /// An exchange, whatever is cached; callers of one generation share it.
    case forced
    /// An exchange, if the cached token is still the rejected one.
    case replacing(fingerprint: String)
  }

  public struct Attempt: Hashable, Sendable {
    public var number: UInt64
    public var key: TokenKey
    public var startedAt: BootInstant
    /// Sends a refresh token again whose first use has an unknown outcome; there is no second replay.
    public var isReplay: Bool
  }

  public enum Source: String, Sendable { case cache, refreshed, staleOk }

  public enum Refusal: Hashable, Sendable {
    case signedOut
    case reauthenticate(reason: String)
    case locked
    case interaction(claims: String?)
    case misconfigured(String)
    case offline(retryAfter: Milliseconds)
    case untrustedServer
    case unavailable(retryAfter: Milliseconds)
    case store
  }

  public enum Effect: Hashable, Sendable {
    case exchange(Attempt)
    case answer(WaiterID, serial: UInt64, Source)
    case refuse(WaiterID, Refusal)
    /// Health changed and must be durable.
    case persistHealth
    /// What a person should be told, once: sign in again.
    case sessionExpired(reason: String)
    case stateChanged
  }

  private struct Waiter: Hashable {
    var id: WaiterID
    var key: TokenKey
    var demand: Demand
  }

  private struct Pause: Hashable {
    var until: BootInstant
    var refusal: ExchangeFailure
  }

  private struct LostRequest: Hashable {
    /// Nil if the machine was booted since.
    var sentAt: BootInstant?
    var replayIsSpent: Bool
  }

  public private(set) var health: Health
  public private(set) var exchange: Attempt?
  /// Failures in a row that asked for patience.
  public private(set) var failures = 0
  private var unexplained = 0
  private var pause: Pause?
  private var interactions: [TokenKey: String?] = [:]
  /// What the provider does not grant, by what was asked.
  private var refusedWishes: [TokenKey: Pause] = [:]
  private var cache: [TokenKey: TokenFacts] = [:]
  private var waiters: [Waiter] = []
  private var attempts: UInt64 = 0
  /// The request whose answer is lost; nil if none is, or if nothing is known of it any more.
  private var lost: LostRequest?
  /// Exchanges in a row that renewed the grant and brought no token that could be used.
  private var barren = 0
  /// When the token of this key was made because the one before was rejected.
  private var replacements: [TokenKey: BootInstant] = [:]
  private var rule: ProviderConfiguration.RefreshRule

  public init(health: Health, rule: ProviderConfiguration.RefreshRule) {
    // Where refresh tokens are not rotated, a lost answer costs nothing.
    self.health = health == .unknown && rule.reuse == .none ? .ok : health
    self.rule = rule
  }

  // MARK: what is seen from outside

  public enum Freshness: String, Sendable { case fresh, stale, expired, none }

  public func freshness(at now: BootInstant) -> Freshness {
    guard let token = cache[.standard] else { return .none }
    return now < token.refreshAt ? .fresh : now < token.expiresAt ? .stale : .expired
  }

  public var standardToken: TokenFacts? { cache[.standard] }
  public var hasInteraction: Bool { !interactions.isEmpty }
  public var nextAttemptAt: BootInstant? { pause?.until }
  public var lastFailure: ExchangeFailure? { pause?.refusal }
  public var isOffline: Bool { if case .offline? = pause?.refusal { true } else { false } }
  public func token(_ key: TokenKey) -> TokenFacts? { cache[key] }
  /// Serials that may still be answered; the shell wipes all others.
  public var liveSerials: Set<UInt64> { Set(cache.values.map(\.serial)) }

  // MARK: inputs

  /// A caller wants a token.
  public mutating func wanted(
    by id: WaiterID, key: TokenKey, demand: Demand, at now: BootInstant
  ) -> [Effect] {
    let cached = cache[key].flatMap { now < $0.expiresAt ? $0 : nil }
    if health == .signedOut { return [.refuse(id, .signedOut)] }
    switch (demand, cached) {
    case (.usable(let minimum), let token?) where token.serves(minimum, at: now):
      // Stale: answer from memory, and begin one exchange that nobody waits for. One that failed is told as `staleOk`.
      guard now >= token.refreshAt, exchange == nil else { return [.answer(id, serial: token.serial, .cache)] }
      guard refusal(for: key, at: now) == nil else { return [.answer(id, serial: token.serial, .staleOk)] }
      return [.answer(id, serial: token.serial, .cache)] + begin(key, at: now)
    case (.replacing(let fingerprint), let token?) where token.fingerprint != fingerprint:
      return [.answer(id, serial: token.serial, .cache)]
    case (.replacing, .some):
      // A token that replaced a rejected one and is rejected as soon: another exchange would be a loop.
      if let replaced = replacements[key], now < replaced + Self.breakerWindow {
        return [.refuse(id, .interaction(claims: nil))]
      }
    default: break
    }
    if exchange?.key == key {
      waiters.append(Waiter(id: id, key: key, demand: demand))
      return []
    }
    if let refusal = refusal(for: key, at: now) {
      if case .usable = demand, let cached { return [.answer(id, serial: cached.serial, .staleOk)] }
      return [.refuse(id, refusal)]
    }
    waiters.append(Waiter(id: id, key: key, demand: demand))
    return exchange == nil ? begin(key, at: now) : []  // I1: the other audience's turn comes after this one
  }

  /// A caller went away. The exchange goes on: a rotated token must not be lost with its caller.
  public mutating func waiterLeft(_ id: WaiterID) { waiters.removeAll { $0.id == id } }

  /// The exchange brought a token, and it is durable.
  public mutating func exchangeSucceeded(attempt number: UInt64, token: TokenFacts, at now: BootInstant) -> [Effect] {
    guard let attempt = exchange, attempt.number == number else { return [] }  // I3
    exchange = nil
    barren = 0
    forgetFailures()
    interactions[attempt.key] = nil
    cache[attempt.key] = token
    forgetOldAudiences(but: attempt.key, at: now)
    let wasRejected = waiters.contains { waiter in
      if waiter.key == attempt.key, case .replacing = waiter.demand { true } else { false }
    }
    replacements[attempt.key] = wasRejected ? now : nil
    var effects = setHealth(.ok)
    effects += takeWaiters(for: attempt.key).map { .answer($0.id, serial: token.serial, .refreshed) }
    return effects + beginNext(at: now)
  }

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
      guard let soonest else { return }
      cache[soonest.key] = nil
    }
  }

  /// More audiences of one account than programs have; a token that is forgotten costs one exchange.
  static let mostAudiences = 64

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
    case .reauthenticate(let reason): effects += setHealth(.reauthenticate(reason: reason))
    case .locked: effects += setHealth(.locked)
    case .misconfigured(let error) where attempt.key != .standard && Self.concernsTheWish(error):
      // One program's wish for a scope that is not granted must not stop the account for all the others.
      refusedWishes = refusedWishes.filter { now < $0.value.until }
      refusedWishes[attempt.key] = Pause(until: now + Self.wishPause, refusal: failure)
    case .misconfigured(let error): effects += setHealth(.misconfigured(error))
    case .interaction(let claims):
      interactions[attempt.key] = .some(claims)
      effects.append(.stateChanged)
    case .unexplained:
      unexplained += 1
      if unexplained > 2 {
        effects += setHealth(.reauthenticate(reason: "unexplainedRefusal"))
      } else {
        hold(failure, until: now + max(.seconds(1), Backoff.pause(failures: failures + 2, jitter: jitter)))
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
      effects.append(.stateChanged)
    case .offline, .untrustedServer, .store:
      // Nothing was sent, so the right to one replay is not spent.
      if attempt.isReplay { lost?.replayIsSpent = false }
      hold(failure, until: now + Backoff.pause(failures: failures + 1, jitter: jitter))
      effects.append(.stateChanged)
    }
    let refused = refusal(for: attempt.key, at: now) ?? Self.refusal(failure, pause: .zero)
    effects += refuseWaiters(for: attempt.key, refused, at: now)
    return effects + beginNext(at: now)
  }

  /// The agent ended between sending a refresh token and keeping the answer. `sentAt` is nil if the machine was booted
  /// since: then nobody knows how long ago it was.
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

  /// The exchange renewed the grant, but brought no token that can be used now: once, what was recovered is too old,
  /// and the next exchange brings one; a provider that does so again is asked no faster than one that fails.
  public mutating func exchangeBroughtNoToken(attempt number: UInt64, at now: BootInstant) -> [Effect] {
    guard let attempt = exchange, attempt.number == number else { return [] }  // I3
    exchange = nil
    lost = nil
    barren += 1
    var effects = setHealth(.ok)
    if barren > 1 {
      let failure = ExchangeFailure.transient("noUsableToken", retryAfter: nil)
      let wait = Backoff.pause(failures: failures + 1, jitter: 1)
      hold(failure, until: now + wait)
      effects += refuseWaiters(for: attempt.key, Self.refusal(failure, pause: wait), at: now)
    }
    return effects + beginNext(at: now)
  }

  /// An access token that is known without an exchange: from a sign-in, or recovered from the journal.
  public mutating func adopt(_ token: TokenFacts, for key: TokenKey) -> [Effect] {
    cache[key] = token
    interactions = [:]
    refusedWishes = [:]
    forgetFailures()
    return setHealth(.ok)
  }

  /// The person signed out: nothing is answered from memory any more, and everybody who waits is told.
  public mutating func signedOut() -> [Effect] {
    exchange = nil
    cache = [:]
    interactions = [:]
    refusedWishes = [:]
    forgetFailures()
    return setHealth(.signedOut) + takeWaiters().map { .refuse($0.id, .signedOut) }
  }

  /// The provider was configured anew: a refusal of the old configuration stands no longer.
  public mutating func reconfigured(rule: ProviderConfiguration.RefreshRule) -> [Effect] {
    self.rule = rule
    refusedWishes = [:]
    switch health {
    case .misconfigured: return setHealth(.ok)
    case .unknown where rule.reuse == .none: return setHealth(.ok)
    default: return []
    }
  }

  /// The way to the provider may be open again: whoever asks next is not held back by what was.
  public mutating func reconnected() { if isOffline { pause = nil } }

  // MARK: decisions

  private mutating func begin(_ key: TokenKey, at now: BootInstant) -> [Effect] {
    attempts += 1
    let attempt = Attempt(number: attempts, key: key, startedAt: now, isReplay: health == .unknown)
    if attempt.isReplay { lost?.replayIsSpent = true }
    exchange = attempt
    return [.exchange(attempt)]
  }

  private mutating func forgetFailures() {
    failures = 0
    unexplained = 0
    pause = nil
    lost = nil
  }

  /// The waiters of the next audience in line, or what holds them back.
  private mutating func beginNext(at now: BootInstant) -> [Effect] {
    var effects: [Effect] = []
    while exchange == nil, let first = waiters.first {
      if let refusal = refusal(for: first.key, at: now) {
        effects += refuseWaiters(for: first.key, refusal, at: now)
      } else {
        effects += begin(first.key, at: now)
      }
    }
    return effects
  }

  /// I2: who is taken from the list here is answered, and nobody else is.
  private mutating func takeWaiters(for key: TokenKey? = nil) -> [Waiter] {
    let taken = waiters.filter { key == nil || $0.key == key }
    waiters.removeAll { key == nil || $0.key == key }
    return taken
  }

  /// A failure spoils nothing that still works: who asked for a usable token gets the one that has not expired.
  private mutating func refuseWaiters(for key: TokenKey, _ refusal: Refusal, at now: BootInstant) -> [Effect] {
    let token = cache[key].flatMap { now < $0.expiresAt ? $0 : nil }
    return takeWaiters(for: key).map { waiter in
      guard case .usable = waiter.demand, let token else { return .refuse(waiter.id, refusal) }
      return .answer(waiter.id, serial: token.serial, .staleOk)
    }
  }

  private mutating func hold(_ failure: ExchangeFailure, until instant: BootInstant) {
    failures += 1
    pause = Pause(until: instant, refusal: failure)
  }

  /// May the refresh token of the lost request be sent once more? `grace(n)` forgives it for n seconds, and half of
  /// them leaves room for the way there; `replayOnce` is the explicit choice of who configured the provider.
  private func mayReplay(at now: BootInstant) -> Bool {
    guard let lost, !lost.replayIsSpent else { return false }
    switch (rule.reuse, rule.onUnknownOutcome) {
    case (.none, _), (.strict, .replayOnce): return true
    case (.grace, _): return lost.sentAt.map { now < $0 + Milliseconds.seconds(rule.graceSeconds) / 2 } ?? false
    case (.strict, .reauthenticate): return false
    }
  }

  private mutating func setHealth(_ new: Health, tellPerson: Bool = true) -> [Effect] {
    guard new != health else { return [] }
    health = new
    var effects: [Effect] = [.persistHealth, .stateChanged]
    if case .reauthenticate(let reason) = new { effects.append(.sessionExpired(reason: reason)) }
    if new == .unknown, tellPerson { effects.append(.sessionExpired(reason: Self.outcomeUnknown)) }
    return effects
  }

  public static let outcomeUnknown = "outcomeUnknown"

  /// How long a wish that was refused is refused from memory: a program that asks in a loop must not reach the
  /// provider each time.
  static let wishPause = Milliseconds.seconds(60)

  /// RFC 6749 §5.2 and RFC 8707 §2: the token was good, what was asked for with it was not.
  private static func concernsTheWish(_ error: String) -> Bool { error == "invalid_scope" || error == "invalid_target" }

  /// A new token that is rejected within this time opens a breaker for its audience (DESIGN, Tokens).
  public static let breakerWindow = Milliseconds.seconds(60)

  /// What stands against an exchange for this key now; nil if nothing does.
  private func refusal(for key: TokenKey, at now: BootInstant) -> Refusal? {
    switch health {
    case .signedOut: return .signedOut
    case .reauthenticate(let reason): return .reauthenticate(reason: reason)
    case .unknown where !mayReplay(at: now): return .reauthenticate(reason: Self.outcomeUnknown)  // I4
    case .locked: return .locked
    case .misconfigured(let error): return .misconfigured(error)
    case .ok, .unknown: break
    }
    if let claims = interactions[key] { return .interaction(claims: claims) }
    if let wish = refusedWishes[key], now < wish.until { return Self.refusal(wish.refusal, pause: wish.until - now) }
    if let pause, now < pause.until { return Self.refusal(pause.refusal, pause: pause.until - now) }
    return nil
  }

  private static func refusal(_ failure: ExchangeFailure, pause: Milliseconds) -> Refusal {
    switch failure {
    case .offline: .offline(retryAfter: pause)
    case .untrustedServer: .untrustedServer
    case .transient, .unexplained, .unknownOutcome: .unavailable(retryAfter: pause)
    case .reauthenticate(let reason): .reauthenticate(reason: reason)
    case .locked: .locked
    case .interaction(let claims): .interaction(claims: claims)
    case .misconfigured(let error): .misconfigured(error)
    case .store: .store
    }
  }
}
