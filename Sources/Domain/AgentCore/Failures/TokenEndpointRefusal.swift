public import AgentModel

/// The parts of an error response that classification needs: no token and no body.
public struct TokenEndpointRefusal: Hashable, Sendable {
  public var status: Int
  /// `error` (RFC 6749 §5.2); nil if the body is no OAuth error.
  public var error: String?
  /// Microsoft's `suberror` or Google's `error_subtype`.
  public var suberror: String?
  /// Provider codes: Microsoft's `error_codes`, Okta's `errorCode`, `code` and `type` of RFC 9457, also in an object that
  /// `error` is, or in the first of `errors`.
  public var codes: [String]
  /// `error_description`, for providers that give no other sign. Compared, and told cleaned by `ProviderRefusals` alone.
  public var description: String?
  /// `description` without what the request had just sent, where it repeats that.
  public var hidden: String?
  /// A claims challenge, to be sent with the next authorization request.
  public var claims: String?
  /// `Retry-After` as a duration (RFC 9110 §10.2.3).
  public var retryAfter: Milliseconds?
  /// The body is an HTML page, and no answer of the protocol.
  public var isPage: Bool

  public init(
    status: Int, error: String? = nil, suberror: String? = nil, codes: [String] = [], description: String? = nil,
    claims: String? = nil, retryAfter: Milliseconds? = nil, isPage: Bool = false
  ) {
    self.status = status
    self.error = error
    self.suberror = suberror
    self.codes = codes
    self.description = description
    self.claims = claims
    self.retryAfter = retryAfter
    self.isPage = isPage
  }
}

/// Why an exchange brought no token, which decides what happens next (docs/tokens.md, Failures).
public enum ExchangeFailure: Hashable, Sendable {
  /// No connection was made, so the refresh token was not used.
  case offline(ConnectFailure)
  /// TLS refused the server, or no pin matched.
  case untrustedServer(TrustFailure)
  /// A temporary failure of the provider: retry later.
  case transient(String, retryAfter: Milliseconds?)
  /// A refusal without a known meaning: transient twice, then it means a new sign-in. `isPage`: an HTML page, as
  /// portals, proxies and gateways send it.
  case unexplained(status: Int, isPage: Bool = false)
  /// The response was lost: the provider may have consumed the refresh token.
  case unknownOutcome(String, retryAfter: Milliseconds? = nil)
  /// The refresh token is no longer valid: the person must sign in again.
  case reauthenticate(reason: String)
  /// The provider has disabled the person's account.
  case locked
  /// The person must interact with the provider, with `claims` if it named a challenge.
  case interaction(claims: String?)
  /// The client's registration or configuration is wrong.
  case misconfigured(String)
  /// The agent's store failed: either nothing was sent, or the response is kept in memory.
  case store

  /// The reason of a request that got no answer in time.
  public static let timedOut = "timedOut"
  /// The reason of a request whose connection ended before the answer.
  public static let reset = "reset"

  /// The provider did not answer a request that asks for a sign of life, so that the refresh token was not sent.
  public static let notAnswering = ExchangeFailure.transient("noAnswer", retryAfter: nil)
  /// A replay that was not sent, since the provider forgives a second use no more.
  public static let graceElapsed = ExchangeFailure.unknownOutcome("graceElapsed")

  public var isUnexplained: Bool { if case .unexplained = self { true } else { false } }
  /// An unexplained refusal that is a page, as of a portal.
  var isPage: Bool { if case .unexplained(_, isPage: true) = self { true } else { false } }

  /// No answer came: what the provider did is unknown, or it was not asked for the token.
  public var isWithoutAnswer: Bool {
    switch self {
    case .unknownOutcome(let reason, _): reason == Self.timedOut || reason == Self.reset
    case .transient: self == .notAnswering
    default: false
    }
  }

  /// An answer came, such as an error of the server, and it leaves open what the provider did.
  public var isUnclearAnswer: Bool {
    guard case .unknownOutcome(let reason, _) = self else { return false }
    return reason.hasPrefix("status") || ["unreadableAnswer", "tooLarge", "malformed"].contains(reason)
  }

  /// A portal, a proxy or a lack of network may be the cause, which a change of the network ends.
  public var mayComeFromTheNetwork: Bool {
    switch self {
    case .offline, .untrustedServer, .unexplained(_, isPage: true): true
    case .transient(let word, nil): self == .notAnswering || FailureClassifier.mayBeOfAPortal(word)
    case .transient, .unexplained, .unknownOutcome, .reauthenticate, .locked, .interaction, .misconfigured, .store:
      false
    }
  }

  /// The provider itself answered, and no portal, proxy or gateway in its place.
  public var isOfTheProvider: Bool {
    switch self {
    case .unknownOutcome, .store: false
    default: !isSilence && !mayComeFromTheNetwork
    }
  }

  /// No answer came in time, or a gateway got none: other requests to the provider would meet the same.
  public var isSilence: Bool {
    switch self {
    case .unknownOutcome(let reason, _): reason == Self.timedOut
    case .transient(let word, _): word == FailureClassifier.word(of: 502) || word == FailureClassifier.word(of: 504)
    default: false
    }
  }
}
