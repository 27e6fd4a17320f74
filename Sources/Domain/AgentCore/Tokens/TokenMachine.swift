public import AgentModel

/// The life of one grant, as a value: what is wanted, what is known, what to do next. It performs nothing.
///
/// - I1: at most one exchange a grant is in flight, over all scopes and audiences.
/// - I2: a waiter is answered exactly once.
/// - I3: an answer to an attempt that is not the current one changes nothing.
/// - I4: a refresh token whose use has an unknown outcome is not sent again but by the provider's rule.
/// - I5: a grant that the provider refuses costs it at most one request in `recheckWhenForced`, over all callers.
///
/// What callers ask is in `TokenMachine+Asking.swift`, what exchanges come to in `TokenMachine+Outcomes.swift`, what
/// happens from outside in `TokenMachine+Changes.swift`, and what stands against an exchange in
/// `TokenMachine+Rules.swift`.
public struct TokenMachine: Sendable {
  struct Waiter: Hashable {
    var id: WaiterID
    var key: TokenKey
    var demand: Demand
  }

  struct Pause: Hashable {
    var until: BootInstant
    var refusal: ExchangeFailure
  }

  struct LostRequest: Hashable {
    /// Nil if the machine was booted since.
    var sentAt: BootInstant?
    var replayIsSpent: Bool
  }

  struct Interaction: Hashable {
    var claims: String?
    /// When the provider was last asked.
    var heardAt: BootInstant?
  }

  /// A request that the provider refuses, or answers with an error that the agent does not know.
  struct RejectedRequest: Hashable {
    var pause: Pause
    var times = 1
  }

  public internal(set) var health: Health
  public internal(set) var exchange: Attempt?
  /// Failures in a row that asked for patience.
  public internal(set) var failures = 0
  var unexplained = 0
  var pause: Pause?
  var interactions: [TokenKey: Interaction] = [:]
  /// The requests that the provider does not grant, by their resource and scopes.
  var rejectedRequests: [TokenKey: RejectedRequest] = [:]
  var cache: [TokenKey: TokenFacts] = [:]
  var waiters: [Waiter] = []
  var attempts: UInt64 = 0
  /// The request whose answer is lost; nil if none is, or if nothing is known of it any more.
  var lost: LostRequest?
  /// Exchanges in a row that renewed the grant and brought no token that could be used.
  var emptyExchanges = 0
  /// When the token of this key was made because the one before was rejected.
  var replacements: [TokenKey: BootInstant] = [:]
  /// The keys of the tokens that others have replaced, the newest last.
  var retired: [(fingerprint: String, key: TokenKey)] = []
  /// When each audience was last asked for.
  var lastWanted: [TokenKey: BootInstant] = [:]
  /// When the provider was last asked about a grant that it refuses; nil if this process never did.
  var heardAt: BootInstant?
  var rule: ProviderConfiguration.RefreshRule

  /// `now` is when the grant was read from the disk: what was refused before is not asked again at once.
  public init(memory: TokenMemory, rule: ProviderConfiguration.RefreshRule, at now: BootInstant? = nil) {
    // Where refresh tokens are not rotated, a lost answer costs nothing.
    health = memory.health == .unknown && rule.reuse == .none ? .ok : memory.health
    interactions = memory.interactions.mapValues { Interaction(claims: $0, heardAt: now) }
    if let patience = memory.patience {
      pause = Pause(until: patience.until, refusal: patience.failure)
      failures = patience.failures
      unexplained = patience.unexplained
    }
    heardAt = now
    self.rule = rule
  }

  public init(health: Health, rule: ProviderConfiguration.RefreshRule) {
    self.init(memory: TokenMemory(health: health), rule: rule)
  }

  // MARK: what is seen from outside

  public func freshness(at now: BootInstant) -> Freshness {
    guard let token = cache[.standard] else { return .none }
    return now < token.refreshAt ? .fresh : now < token.expiresAt ? .stale : .expired
  }

  public var standardToken: TokenFacts? { cache[.standard] }
  public var hasInteraction: Bool { !interactions.isEmpty }
  public var nextAttemptAt: BootInstant? { pause?.until }
  public var lastFailure: ExchangeFailure? { pause?.refusal }
  public var isOffline: Bool { if case .offline? = pause?.refusal { true } else { false } }
  /// The provider's last answer is missing: it was not reached, could not answer, or sent an error that the agent does
  /// not know. What it accepts now is unknown, too.
  public var lacksAnswer: Bool {
    switch pause?.refusal {
    case .offline?, .untrustedServer?, .transient?, .unexplained?, .unknownOutcome?: true
    default: health == .unknown
    }
  }
  public func token(_ key: TokenKey) -> TokenFacts? { cache[key] }
  /// Serials that may still be answered; the shell wipes all others.
  public var liveSerials: Set<UInt64> { Set(cache.values.map(\.serial)) }
  /// The audiences that have a token, with it.
  public var tokens: [TokenKey: TokenFacts] { cache }
  /// A caller waits for the exchange in flight, or for the next.
  public var isWanted: Bool { !waiters.isEmpty }

  /// The key of the token with this fingerprint; nil if it is none of the last.
  public func key(ofFingerprint fingerprint: String) -> TokenKey? {
    cache.first { $0.value.fingerprint == fingerprint }?.key
      ?? retired.last { $0.fingerprint == fingerprint }?.key
  }

  /// What must be durable when an exchange for this audience is, before the machine hears of it: what others want of
  /// the person stands.
  public func memory(afterSuccessFor key: TokenKey) -> TokenMemory {
    TokenMemory(health: .ok, interactions: interactions.filter { $0.key != key }.mapValues(\.claims))
  }

  /// What must be durable. Pauses of this machine's own making (no way, no disk) are not: a restart may try at once.
  public var memory: TokenMemory {
    var memory = TokenMemory(health: health, interactions: interactions.mapValues(\.claims))
    switch pause?.refusal {
    case .transient?, .unexplained?:
      memory.patience = TokenMemory.Patience(
        until: pause!.until, failure: pause!.refusal, failures: failures, unexplained: unexplained)
    default: break
    }
    return memory
  }
}
