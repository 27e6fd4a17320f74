public import AgentModel

/// The life of one grant, as a value: what is wanted, what is known, what to do next. It performs nothing.
///
/// - I1: at most one exchange a grant is in flight, over all scopes and audiences.
/// - I2: a waiter is answered exactly once.
/// - I3: an answer to an attempt that is not the current one changes nothing.
/// - I4: a refresh token whose use has an unknown outcome is not sent again but by the provider's rule.
/// - I5: a grant that the provider refuses costs it at most one request in `recheckWhenForced`, over all callers; one
///   whose client it refuses, one in `recheckConfiguration`; a secret, whatever was said of it, one in `recheckSecret`.
/// - I6: after a failure all callers together make one attempt a pause.
///
/// The machine knows who waits and which exchange is in flight; what is known of the grant, and what stands against an
/// exchange, is in its `GrantState`. What callers ask is in `TokenMachine+Asking.swift`, what exchanges come to in
/// `TokenMachine+Outcomes.swift`, and what happens from outside in `TokenMachine+Changes.swift`. What is otherwise with a secret is in
/// `TokenMachine+Secrets.swift`.
public struct TokenMachine: Sendable {
  public internal(set) var grant: GrantState
  @Rare public internal(set) var exchange: Attempt? = nil
  var attempts: UInt64 = 0
  var waiters = Waiters()
  /// Exchanges in a row that renewed the grant and brought no token that could be used.
  var emptyExchanges = 0
  /// Of an account that holds a secret.
  @Rare var heldSecret: HeldSecret? = nil
  /// The state that subscribers know.
  public internal(set) var toldState: AccountState

  /// - Parameters:
  ///   - toldState: the state that subscribers know; nil if it is the one of `memory`.
  ///   - now: when the grant was read from the disk: what was refused before is not asked again at once.
  public init(
    memory: TokenMemory, rule: ProviderConfiguration.RefreshRule, isIssuedElsewhere: Bool = false,
    toldState: AccountState? = nil, at now: BootInstant? = nil
  ) {
    grant = GrantState(memory: memory, rule: rule, at: now)
    grant.isIssuedElsewhere = isIssuedElsewhere
    self.toldState = .active
    self.toldState = toldState ?? state(at: now ?? BootInstant(milliseconds: 0))
  }

  public init(health: Health, rule: ProviderConfiguration.RefreshRule, isIssuedElsewhere: Bool = false) {
    self.init(memory: TokenMemory(health: health), rule: rule, isIssuedElsewhere: isIssuedElsewhere)
  }

  // MARK: what is seen from outside

  public func freshness(at now: BootInstant) -> Freshness {
    guard let token = standardToken else { return .none }
    return now < token.refreshAt ? .fresh : now < token.expiresAt ? .stale : .expired
  }

  public var health: Health { grant.health }
  public var standardToken: TokenFacts? { token(.standard) }
  /// What a refresh with fewer scopes does to the grant at this provider.
  public var narrowing: ProviderConfiguration.Narrowing { grant.replay.rule.narrowing }
  /// The key with the resource that a standard token is for, as callers' grants name it.
  public func named(_ key: TokenKey) -> TokenKey {
    TokenKey(resource: key.resource ?? grant.replay.rule.standardResource, scopes: key.scopes)
  }
  /// The key under which a token is kept: one for the only resource of the provider is a standard one.
  public func kept(_ key: TokenKey) -> TokenKey {
    key.resource == grant.replay.rule.standardResource ? TokenKey(scopes: key.scopes) : key
  }
  /// What stands between the scopes of the provider's answers.
  public var scopeSeparators: ScopeSet.Separators { grant.replay.rule.scopeSeparators }
  /// A bearer token is not served at this provider (docs/dpop.md, Bearer answers).
  public var refusesBearerTokens: Bool { grant.replay.rule.refusesBearerTokens }
  /// Callers may have the tokens that were issued under this grant. Those of a grant that the provider refused go with
  /// it, also where its refresh token is kept for another try, and a disabled account is served none.
  public var servesTokens: Bool { health.servesTokens }
  public var hasInteraction: Bool { grant.isIssuedElsewhere || !grant.audiences.interactions.isEmpty }
  /// Failures in a row that asked for patience.
  // Not inlined: Swift 6.3's optimiser fails on the borrow of `patience` that an asynchronous caller then has.
  @inline(never)
  public var failures: Int { grant.pause.failures }
  @inline(never)
  public var nextAttemptAt: BootInstant? { grant.pause.patience?.until }
  /// The end of the pause for callers, which is not after `nextAttemptAt`.
  @inline(never)
  public var nextAttemptOfCallersAt: BootInstant? { grant.pause.patience?.callersUntil }
  @inline(never)
  public var lastFailure: ExchangeFailure? { grant.pause.patience?.failure }
  public var isOffline: Bool { if case .offline? = lastFailure { true } else { false } }
  /// The provider's last answer is missing: it was not reached, could not answer, or sent an error that the agent does
  /// not know. What it accepts now is unknown, too.
  public var lacksAnswer: Bool {
    switch lastFailure {
    case .offline?, .untrustedServer?, .transient?, .unexplained?, .unknownOutcome?: true
    default: health == .unknown
    }
  }
  public func token(_ key: TokenKey) -> TokenFacts? { grant.audiences[key].token }
  /// Serials that may still be answered; the shell wipes all others.
  public var liveSerials: Set<UInt64> { Set(tokens.values.map(\.serial)) }
  /// The audiences that have a token, with it.
  public var tokens: [TokenKey: TokenFacts] { grant.audiences.tokens }
  /// A caller waits for the exchange in flight, or for the next.
  public var isWanted: Bool { !waiters.isEmpty }

  /// What must be durable.
  public var memory: TokenMemory { grant.memory }
  /// The outcome of a request is unknown, and the replay that the rule allows is in flight or still to come.
  public func mayRecover(at now: BootInstant) -> Bool { exchange?.isReplay == true || grant.mayRecover(at: now) }
  /// The outcome of a request is unknown, and that costs the person nothing yet.
  public func isDoubtHarmless(at now: BootInstant) -> Bool {
    exchange?.isReplay == true || grant.isDoubtHarmless(at: now)
  }

  /// The replays so far that got no answer, since the request that is in doubt.
  public var lostReplays: Int { grant.replay.lost?.lostReplays ?? 0 }

  // MARK: limits

  /// A new token that is rejected within this time opens a breaker for its audience (docs/tokens.md, Health and
  /// freshness).
  public static let breakerWindow = Milliseconds.seconds(60)

  /// The timer runs only for what was asked for within this time (docs/tokens.md, Health and freshness).
  public static let lately = Milliseconds.seconds(1800)

  /// I5: forced exchanges of a grant that the provider refused reach it no more often than this. A real server's
  /// `invalid_grant` may be its mistake, so the token is marked and not deleted (docs/tokens.md, Failures).
  public static let recheckWhenForced = Milliseconds.seconds(120)

  /// A refusal of the client or of its configuration may be mended by the person who forces a refresh then.
  public static let recheckConfiguration = Milliseconds.seconds(5)

  /// An account that was disabled, or a client that was misconfigured, may be mended without a word to the agent: a
  /// caller that only asks for a token finds out after this time.
  public static let recheckWhenAsked = Milliseconds.seconds(900)

  /// A refusal that the agent can't explain may come from a server between the agent and the provider: a caller that
  /// only asks for a token finds out after this time.
  public static let recheckUnexplained = recheckWhenForced

  /// After a failure of the store, which callers are told, too: a disk that has room again is found at once, and a dead
  /// one is not tried by every call.
  public static let storePause = Milliseconds.seconds(1)

  /// How long a caller that names no time waits for a provider that does not answer. A request to the provider may take
  /// longer, and its answer is kept.
  public static let callersPatience = Milliseconds.seconds(20)

  public static let outcomeUnknown = "outcomeUnknown"
  public static let noRefreshToken = "noRefreshToken"
  public static let unexplainedRefusal = "unexplainedRefusal"
  public static let noUsableToken = "noUsableToken"
  public static let notBound = "notBound"
  public static let secretRefused = "secretRefused"
  public static let secretExpired = "secretExpired"
  public static let identityMismatch = "identityMismatch"
  public static let notSupported = "notSupported"
  /// Of a GitHub App: its installation is gone, or a person suspended it.
  public static let installationUnknown = "installationUnknown"
  public static let installationSuspended = "installationSuspended"
}
