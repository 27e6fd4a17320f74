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
/// happens from outside in `TokenMachine+Changes.swift`, what stands against an exchange in `TokenMachine+Rules.swift`,
/// and what is known of each audience in `TokenMachine+Audiences.swift`.
public struct TokenMachine: Sendable {
  struct Waiter: Hashable {
    var id: WaiterID
    var key: TokenKey
    var demand: Demand
  }

  struct LostRequest: Hashable {
    /// Nil if the machine was booted since.
    var sentAt: BootInstant?
    var replayIsSpent: Bool
  }

  public internal(set) var health: Health
  public internal(set) var exchange: Attempt?
  var attempts: UInt64 = 0
  var waiters: [Waiter] = []
  var audiences = Audiences()
  /// The last pause, also once it is over; nil after a success.
  var patience: TokenMemory.Patience?
  /// The request whose answer is lost; nil if none is, or if nothing is known of it any more.
  var lost: LostRequest?
  /// Exchanges in a row that renewed the grant and brought no token that could be used.
  var emptyExchanges = 0
  /// When the provider was last asked about a grant that it refuses; nil if this process never did.
  var heardAt: BootInstant?
  var rule: ProviderConfiguration.RefreshRule
  /// The provider is configured as another client or server than the one that issued the grant: nothing is sent there,
  /// and only the person can change it (docs/tokens.md, Where tokens go).
  public internal(set) var isIssuedElsewhere = false

  /// `now` is when the grant was read from the disk: what was refused before is not asked again at once.
  public init(
    memory: TokenMemory, rule: ProviderConfiguration.RefreshRule, isIssuedElsewhere: Bool = false,
    at now: BootInstant? = nil
  ) {
    // Where refresh tokens are not rotated, a lost answer costs nothing.
    health = memory.health == .unknown && rule.reuse == .none ? .ok : memory.health
    patience = memory.patience
    heardAt = now
    self.rule = rule
    self.isIssuedElsewhere = isIssuedElsewhere
    for (key, claims) in memory.interactions {
      audiences[key].interaction = Interaction(claims: claims, heardAt: now)
    }
  }

  public init(health: Health, rule: ProviderConfiguration.RefreshRule, isIssuedElsewhere: Bool = false) {
    self.init(memory: TokenMemory(health: health), rule: rule, isIssuedElsewhere: isIssuedElsewhere)
  }

  // MARK: what is seen from outside

  public func freshness(at now: BootInstant) -> Freshness {
    guard let token = standardToken else { return .none }
    return now < token.refreshAt ? .fresh : now < token.expiresAt ? .stale : .expired
  }

  public var standardToken: TokenFacts? { token(.standard) }
  /// What a refresh with fewer scopes does to the grant at this provider.
  public var narrowing: ProviderConfiguration.Narrowing { rule.narrowing }
  /// The standard token, if callers may have it.
  public var servedToken: TokenFacts? { health == .locked ? nil : standardToken }
  public var hasInteraction: Bool { isIssuedElsewhere || !audiences.interactions.isEmpty }
  /// Failures in a row that asked for patience.
  // Not inlined: Swift 6.3's optimiser fails on the borrow of `patience` that an asynchronous caller then has.
  @inline(never)
  public var failures: Int { patience?.failures ?? 0 }
  @inline(never)
  public var nextAttemptAt: BootInstant? { patience?.until }
  @inline(never)
  public var lastFailure: ExchangeFailure? { patience?.failure }
  public var isOffline: Bool { if case .offline? = lastFailure { true } else { false } }
  /// The provider's last answer is missing: it was not reached, could not answer, or sent an error that the agent does
  /// not know. What it accepts now is unknown, too.
  public var lacksAnswer: Bool {
    switch lastFailure {
    case .offline?, .untrustedServer?, .transient?, .unexplained?, .unknownOutcome?: true
    default: health == .unknown
    }
  }
  public func token(_ key: TokenKey) -> TokenFacts? { audiences[key].token }
  /// Serials that may still be answered; the shell wipes all others.
  public var liveSerials: Set<UInt64> { Set(tokens.values.map(\.serial)) }
  /// The audiences that have a token, with it.
  public var tokens: [TokenKey: TokenFacts] { audiences.tokens }
  /// A caller waits for the exchange in flight, or for the next.
  public var isWanted: Bool { !waiters.isEmpty }

  /// The key of the token with this fingerprint; nil if it is none of the last.
  public func key(ofFingerprint fingerprint: String) -> TokenKey? { audiences.key(ofFingerprint: fingerprint) }

  /// What must be durable when an exchange for this audience is, before the machine hears of it: what others want of
  /// the person stands.
  public func memory(afterSuccessFor key: TokenKey) -> TokenMemory {
    TokenMemory(health: .ok, interactions: audiences.interactions.filter { $0.key != key })
  }

  /// What must be durable. Pauses of this machine's own making (no way, no disk) are not: a restart may try at once.
  public var memory: TokenMemory {
    var memory = TokenMemory(health: health, interactions: audiences.interactions)
    switch lastFailure {
    case .transient?, .unexplained?: memory.patience = patience
    default: break
    }
    return memory
  }
}
