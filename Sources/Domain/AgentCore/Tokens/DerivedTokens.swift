public import AgentModel

/// What a token of `token.exchange` is for (RFC 8693 §2.1). One token is kept for each.
public struct DerivedTokenKey: Hashable, Sendable {
  public var audience: String?
  public var resource: String?
  public var scopes: ScopeSet?
  /// The URI of the requested token type.
  public var type: String?
  /// Rights in detail (RFC 9396 §6).
  public var details: AuthorizationDetails?

  public init(
    audience: String? = nil, resource: String? = nil, scopes: ScopeSet? = nil, type: String? = nil,
    details: AuthorizationDetails? = nil
  ) {
    self.audience = audience
    self.resource = resource
    self.scopes = scopes
    self.type = type
    self.details = details
  }
}

/// The facts about one credential that was obtained for a token of the account.
public struct DerivedTokenFacts: Hashable, Sendable {
  public var serial: UInt64
  public var refreshAt: BootInstant
  public var expiresAt: BootInstant
  public var fingerprint: String

  /// - Parameter lead: how long before its end it is replaced; nil: as for an access token of this lifetime.
  public init(
    serial: UInt64, lifetime: Milliseconds, lead: Milliseconds? = nil, expiresAt: BootInstant, fingerprint: String
  ) {
    self.serial = serial
    self.expiresAt = expiresAt
    self.fingerprint = fingerprint
    refreshAt = expiresAt + (.zero - (lead ?? LeadTime.of(lifetime: lifetime)))
  }
}

/// What to do for a caller that wants a derived token.
public enum DerivedTokenStep: Hashable, Sendable {
  case answer(serial: UInt64)
  /// A failure that is not asked about again yet. `stale`: the token that has not expired.
  case refuse(ExchangeFailure, retryAfter: Milliseconds, stale: UInt64?)
  case ask
}

/// The facts about what was obtained for the tokens of an account: other tokens (docs/tokens.md, Exchanged tokens) or
/// credentials of a role (docs/desktop.md, AWS). They are apart from the tokens of the grant: no failure here says
/// anything of the grant's health.
public struct DerivedTokens<Key: Hashable & Sendable>: Sendable {
  /// As many as an account has access tokens. One that is forgotten costs one exchange.
  public static var most: Int { TokenMachine.Audiences.most }

  private struct Entry {
    var token: DerivedTokenFacts?
    var failure: (ExchangeFailure, until: BootInstant)?
    var failures = 0
    /// When a resource refused its last token.
    var rejectedAt: BootInstant?
    var lastWanted: BootInstant
  }

  private var entries: [Key: Entry] = [:]

  public init() {}

  /// The tokens that may still be answered; the shell wipes all others.
  public var serials: Set<UInt64> { Set(entries.values.compactMap { $0.token?.serial }) }

  public mutating func wanted(_ key: Key, at now: BootInstant) -> DerivedTokenStep {
    entries[key]?.lastWanted = now
    guard let entry = entries[key] else { return .ask }
    if let token = entry.token, now < token.refreshAt { return .answer(serial: token.serial) }
    guard let (failure, until) = entry.failure, now < until else { return .ask }
    return .refuse(failure, retryAfter: until - now, stale: live(key, at: now))
  }

  /// The token, if it has not expired.
  public func live(_ key: Key, at now: BootInstant) -> UInt64? {
    entries[key]?.token.flatMap { now < $0.expiresAt ? $0.serial : nil }
  }

  public mutating func brought(_ key: Key, _ token: DerivedTokenFacts, at now: BootInstant) {
    entries[key] = Entry(token: token, rejectedAt: entries[key]?.rejectedAt, lastWanted: now)
    forgetOld(but: key, at: now)
  }

  /// Returns how long the failure is answered from memory. `jitter` is a fraction from 0 up to 1.
  public mutating func failed(
    _ key: Key, _ failure: ExchangeFailure, at now: BootInstant, jitter: Double
  ) -> Milliseconds {
    var entry = entries[key] ?? Entry(lastWanted: now)
    entry.failures += 1
    let pause: Milliseconds =
      switch failure {
      case .transient(_, let retryAfter?): max(retryAfter, Backoff.shortest)
      case .offline, .untrustedServer, .transient, .unknownOutcome, .unexplained, .store:
        Backoff.forCallers(
          max(Backoff.shortest, Backoff.pause(failures: entry.failures, jitter: jitter)), jitter: jitter)
      case .reauthenticate, .locked, .interaction, .misconfigured: RetryPause.afterRejection
      }
    entry.failure = (failure, now + pause)
    entries[key] = entry
    forgetOld(but: key, at: now)
    return pause
  }

  /// The key of the token with this fingerprint; nil if it is none of these.
  public func key(ofFingerprint fingerprint: String) -> Key? {
    entries.first { $0.value.token?.fingerprint == fingerprint }?.key
  }

  /// Drops the token that a resource refused. True if its predecessor was refused within `TokenMachine.breakerWindow`, so
  /// that another one would be refused as well: then it stays. Nil without a token.
  public mutating func reject(_ key: Key, at now: BootInstant) -> Bool? {
    guard let entry = entries[key], entry.token != nil else { return nil }
    if let rejectedAt = entry.rejectedAt, now < rejectedAt + TokenMachine.breakerWindow { return true }
    entries[key]?.token = nil
    entries[key]?.rejectedAt = now
    return false
  }

  /// The provider was configured anew, or may be reachable again: it is asked again at once.
  public mutating func forgetFailures() {
    for key in entries.keys {
      entries[key]?.failure = nil
      entries[key]?.failures = 0
    }
  }

  /// Callers choose the keys freely. The one that was wanted longest ago goes first.
  private mutating func forgetOld(but newest: Key, at now: BootInstant) {
    for (key, entry) in entries where key != newest {
      let isOver = entry.token.map { $0.expiresAt <= now } ?? true
      if isOver, entry.failure.map({ $0.until <= now }) ?? true { entries[key] = nil }
    }
    while entries.count > Self.most {
      let oldest = entries.filter { $0.key != newest }.min { $0.value.lastWanted < $1.value.lastWanted }
      guard let oldest else { return }
      entries[oldest.key] = nil
    }
  }
}
