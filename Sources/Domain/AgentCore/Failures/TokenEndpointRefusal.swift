public import AgentModel

/// What the token endpoint answered, reduced to what decides: never a token, never the body.
public struct TokenEndpointRefusal: Hashable, Sendable {
  public var status: Int
  /// `error` of RFC 6749 §5.2, if the body was such an answer.
  public var error: String?
  /// `suberror` of Microsoft, `error_subtype` of Google.
  public var suberror: String?
  /// Codes that the provider adds: Microsoft's `error_codes`, Okta's `errorCode`, `code` and `type` of RFC 9457.
  public var codes: [String]
  /// `error_description`, for providers that say what happened nowhere else. It is compared, never shown or logged.
  public var description: String?
  public var claims: String?
  public var retryAfter: Milliseconds?

  public init(
    status: Int, error: String? = nil, suberror: String? = nil, codes: [String] = [], description: String? = nil,
    claims: String? = nil, retryAfter: Milliseconds? = nil
  ) {
    self.status = status
    self.error = error
    self.suberror = suberror
    self.codes = codes
    self.description = description
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
