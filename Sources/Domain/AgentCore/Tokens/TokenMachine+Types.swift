public import AgentModel

extension TokenMachine {
  public typealias WaiterID = UInt64

  /// The grant's health, as far as it survives a restart.
  public enum Health: Hashable, Sendable {
    case ok
    /// A request was sent and its answer lost; on a strict provider the token may be spent.
    case unknown
    case reauthenticate(reason: String)
    case locked
    case misconfigured(String)
    case signedOut

    /// The refusal of every caller while the provider does not stand by the tokens that it issued; nil if it does, as far
    /// as is known. A lost answer says nothing of them, and neither does the lack of a refresh token, for which the
    /// provider was not asked.
    public var withheld: Refusal? {
      switch self {
      case .ok, .unknown, .misconfigured, .reauthenticate(reason: TokenMachine.noRefreshToken): nil
      case .reauthenticate(let reason): .reauthenticate(reason: reason)
      case .locked: .locked
      case .signedOut: .signedOut
      }
    }

    public var servesTokens: Bool { withheld == nil }
  }

  /// The facts about an issued access token; its bytes stay with the shell, under `serial`.
  public struct TokenFacts: Hashable, Sendable {
    public var serial: UInt64
    public var lifetime: Milliseconds
    public var refreshAt: BootInstant
    public var expiresAt: BootInstant
    /// When it is renewed without being asked for, if it is in use then; nil for one that lives too shortly.
    public var renewAt: BootInstant?
    public var fingerprint: String

    public init(
      serial: UInt64, lifetime: Milliseconds, refreshAt: BootInstant, expiresAt: BootInstant,
      renewAt: BootInstant? = nil, fingerprint: String
    ) {
      self.serial = serial
      self.lifetime = lifetime
      self.refreshAt = refreshAt
      self.expiresAt = expiresAt
      self.renewAt = renewAt
      self.fingerprint = fingerprint
    }

    /// Long enough for the caller; a provider's tokens that never live that long are judged by their lead instead,
    /// or each call would make an exchange.
    func serves(_ minimum: Milliseconds, at now: BootInstant) -> Bool {
      minimum < lifetime ? now + minimum <= expiresAt : now < refreshAt
    }
  }

  /// A caller's demand on the token.
  public enum Demand: Hashable, Sendable {
    case usable(minimumLifetime: Milliseconds)
    /// An exchange, also if a token is cached; callers of one generation share it.
    case forced
    /// An exchange, if the cached token is still the rejected one.
    case replacing(fingerprint: String)
  }

  public struct Attempt: Hashable, Sendable {
    public var number: UInt64
    public var key: TokenKey
    /// When it began, and once its request left, when that was.
    public internal(set) var startedAt: BootInstant
    /// Sends a refresh token again whose first use has an unknown outcome; there is no second replay.
    public internal(set) var isReplay: Bool
  }

  public enum Source: String, Sendable { case cache, refreshed, staleOk }

  public enum Refusal: Hashable, Sendable {
    case signedOut
    case reauthenticate(reason: String)
    case locked
    case interaction(claims: String?)
    case misconfigured(String)
    case offline(ConnectFailure, retryAfter: Milliseconds)
    case untrustedServer(TrustFailure)
    case unavailable(retryAfter: Milliseconds)
    case noAnswer(Silence)
    case store
  }

  /// The provider did not answer, or not with what became of the request.
  public enum Silence: Hashable, Sendable {
    /// The caller gave up waiting. The exchange goes on, and its result is kept.
    case stillWaiting
    /// The attempt ended without an answer.
    case ended(retryAfter: Milliseconds)
    /// The refresh token may be spent: it is sent once more no sooner than then.
    case inDoubt(retryAfter: Milliseconds)
    /// The same, after an answer that leaves it open, such as an error of the server.
    case unclear(retryAfter: Milliseconds)
  }

  public enum Effect: Hashable, Sendable {
    case exchange(Attempt)
    case answer(WaiterID, serial: UInt64, Source)
    case refuse(WaiterID, Refusal)
    /// Wipe the tokens that were issued under the grant and what was made of them.
    case withdrawTokens
    /// The memory changed and must be durable.
    case persistHealth
    /// Tell the person: sign in again. Comes with the change to `reauthenticationRequired`, and only with it.
    case sessionExpired(reason: String)
    case stateChanged(AccountState, previous: AccountState)
  }

  public enum Freshness: String, Sendable { case fresh, stale, expired, none }
}

extension TokenMachine.Refusal {
  /// The refusal of a caller after this failure. `pause`: until the next attempt.
  init(_ failure: ExchangeFailure, pause: Milliseconds) {
    self =
      switch failure {
      case .offline(let failure): .offline(failure, retryAfter: pause)
      case .untrustedServer(let reason): .untrustedServer(reason)
      case .transient, .unexplained, .unknownOutcome:
        failure.isWithoutAnswer ? .noAnswer(.ended(retryAfter: pause)) : .unavailable(retryAfter: pause)
      case .reauthenticate(let reason): .reauthenticate(reason: reason)
      case .locked: .locked
      case .interaction(let claims): .interaction(claims: claims)
      case .misconfigured(let error): .misconfigured(error)
      case .store: .store
      }
  }
}
