public import AgentModel

/// What the token endpoint answered, reduced to what decides: never a token, never the body.
public struct TokenEndpointRefusal: Hashable, Sendable {
  public var status: Int
  /// `error` of RFC 6749 §5.2, if the body was such an answer.
  public var error: String?
  public var suberror: String?
  /// Codes that the provider adds: Microsoft's `error_codes`, RFC 9457 `code`.
  public var codes: [String]
  public var claims: String?
  public var retryAfter: Milliseconds?

  public init(
    status: Int, error: String? = nil, suberror: String? = nil, codes: [String] = [], claims: String? = nil,
    retryAfter: Milliseconds? = nil
  ) {
    self.status = status
    self.error = error
    self.suberror = suberror
    self.codes = codes
    self.claims = claims
    self.retryAfter = retryAfter
  }
}

/// Why an exchange brought no token, and so what happens next (DESIGN, Tokens: "Failures are classified…").
public enum ExchangeFailure: Hashable, Sendable {
  /// No connection was ever made: nothing is unknown.
  case offline(String)
  case untrustedServer
  /// The provider will answer later.
  case transient(String, retryAfter: Milliseconds?)
  /// A refusal that is no OAuth answer: transient twice, then it means sign-in.
  case unexplained(status: Int)
  /// The request may have been served, the answer was lost.
  case unknownOutcome(String)
  case reauthenticate(reason: String)
  case locked
  case interaction(claims: String?)
  case misconfigured(String)
  /// Our own disk: nothing was sent, or what came is kept in memory.
  case store
}

/// Decides by status, `error`, `suberror`, then the provider's own codes.
public enum FailureClassifier {
  /// RFC 6585 §4 gives 429 a `Retry-After`; without one, this long.
  public static let throttledPause = Milliseconds.seconds(60)
  /// A provider that asks for more is asked again after this long.
  public static let longestPause = Milliseconds.seconds(3600)

  public static func classify(
    _ refusal: TokenEndpointRefusal, codes known: [String: FailureClass] = [:]
  ) -> ExchangeFailure {
    let pause = refusal.retryAfter.map { min($0, longestPause) }
    // The provider's own codes say more than the shared words, so whoever configured them is heard first.
    for code in refusal.codes + [refusal.suberror, refusal.error].compactMap({ $0 }) {
      if let known = known[code] { return failure(known, refusal, pause: pause) }
    }
    switch refusal.status {
    case 429: return .transient("throttled", retryAfter: pause ?? throttledPause)
    case 408, 425, 500...599: return .transient("status\(refusal.status)", retryAfter: pause)
    default: break
    }
    switch refusal.suberror {
    case "consent_required", "basic_action", "additional_action", "message_only":
      return .interaction(claims: refusal.claims)
    case "bad_token", "token_expired", "protection_policy_required":
      return .reauthenticate(reason: "refused")
    case "account_disabled", "user_disabled":
      return .locked
    default: break
    }
    switch refusal.error {
    case "invalid_grant":
      return refusal.claims == nil ? .reauthenticate(reason: "refused") : .interaction(claims: refusal.claims)
    case "interaction_required", "login_required", "consent_required", "insufficient_user_authentication",
      "mfa_required":
      return .interaction(claims: refusal.claims)
    case "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_target":
      return .misconfigured(refusal.error!)
    case "temporarily_unavailable", "server_error", "slow_down":
      return .transient(refusal.error!, retryAfter: pause)
    case "account_disabled", "user_disabled":
      return .locked
    default:
      // Also `invalid_request`: real servers answer a dead token with it, and our request was good the last time.
      return .unexplained(status: refusal.status)
    }
  }

  private static func failure(
    _ known: FailureClass, _ refusal: TokenEndpointRefusal, pause: Milliseconds?
  ) -> ExchangeFailure {
    switch known {
    case .transient: .transient(refusal.error ?? "status\(refusal.status)", retryAfter: pause)
    case .reauthenticate: .reauthenticate(reason: "refused")
    case .locked: .locked
    case .interaction: .interaction(claims: refusal.claims)
    case .misconfigured: .misconfigured(refusal.error ?? "status\(refusal.status)")
    }
  }
}
