public import AgentModel

/// Decides what follows each answer to a request with an access token (docs/requests.md).
///
/// - Q1: the token goes to one origin only.
/// - Q2: a write is sent at most once, and with an idempotency key at most twice. A request whose proof the server
///   refuses for its nonce does not count: the server did not process it (RFC 9449 §9).
/// - Q3: the token is replaced at most once.
public struct RequestMachine: Sendable {
  /// The contract's bound for a response's body.
  public static let maximumResponseBytes = 4 << 20

  /// What to do next.
  public enum Action: Hashable, Sendable {
    /// Send the request to this target with the current token.
    case send(RequestTarget)
    /// Replace the token with this fingerprint, which the resource server refused; then call `replaced`.
    case replaceToken(fingerprint: String)
    /// Answer with the response.
    case answer
    /// The person has to interact.
    case interact(InteractionDemand)
  }

  /// The facts of a response that decide.
  public struct Response: Hashable, Sendable {
    public var status: Int
    /// The value of `Location`.
    public var location: String?
    /// The values of `WWW-Authenticate`.
    public var challenges: [String]
    /// The request had a proof of possession, and the response told another nonce for it than the one it had.
    public var tellsNonce: Bool

    public init(status: Int, location: String? = nil, challenges: [String] = [], tellsNonce: Bool = false) {
      self.status = status
      self.location = location
      self.challenges = challenges
      self.tellsNonce = tellsNonce
    }
  }

  private enum State: Hashable, Sendable {
    case sending
    case replacing(fingerprint: String, sendsAgain: Bool)
    case ended
  }

  /// The redirects that a read follows.
  public static let maximumRedirects = 5

  private let method: String
  private let hasKey: Bool
  private let allowsAuthRetry: Bool
  private let followsRedirects: Bool
  private let hasSignIn: Bool
  private var state = State.sending
  /// Where the request goes.
  public private(set) var target: RequestTarget
  private var redirects = 0
  /// The number of requests that were sent, with those that a redirect led to.
  public private(set) var attempts = 0
  /// True if another token took the place of the one that the resource server refused.
  public private(set) var isRefreshed = false
  private var hasReplaced = false
  /// The nonce of the proof was renewed since the token or the target changed.
  private var hasRenewedNonce = false

  /// - Parameters:
  ///   - hasKey: the request has an idempotency key, so that the server performs it once even if it comes twice.
  ///   - allowsAuthRetry: a refused token may be replaced, and the request sent again.
  ///   - followsRedirects: false for a credential in the URL, which the server may repeat in the next one.
  ///   - hasSignIn: a sign-in could bring what a challenge demands; false for a secret or a machine.
  public init(
    method: String, target: RequestTarget, hasKey: Bool, allowsAuthRetry: Bool, followsRedirects: Bool = true,
    hasSignIn: Bool = true
  ) {
    self.method = method
    self.hasKey = hasKey
    self.allowsAuthRetry = allowsAuthRetry
    self.followsRedirects = followsRedirects
    self.hasSignIn = hasSignIn
    self.target = target
  }

  /// `CONNECT` is for proxies, and the response to `TRACE` would repeat the token (RFC 9110 §9.3.8). Some servers know
  /// methods in lower case, and `TRACK` as another `TRACE`. `WEBSOCKET` is no method on the wire (`WebSocketMethod`).
  public static func canSend(_ method: String) -> Bool {
    !["CONNECT", "TRACE", "TRACK", WebSocketMethod.name].contains(method.uppercased())
  }

  public static let expectedMethod = "a method other than CONNECT, TRACE, TRACK and WEBSOCKET"

  /// A program that sends its requests by itself may open a WebSocket, too.
  public static func canAuthorize(_ method: String) -> Bool { canSend(method) || method == WebSocketMethod.name }

  public static let expectedToAuthorize = "a method other than CONNECT, TRACE and TRACK"

  /// RFC 9110 §9.2.1, without `TRACE`.
  public static func isRead(_ method: String) -> Bool { ["GET", "HEAD", "OPTIONS"].contains(method) }

  public var isRead: Bool { Self.isRead(method) }

  /// The request leaves now.
  public mutating func sent() { attempts += 1 }

  /// The response to the request that was sent with the token of this fingerprint.
  public mutating func answered(_ response: Response, fingerprint: String) -> Action {
    guard case .sending = state else { return .answer }
    switch response.status {
    case 401: return refused(response, fingerprint)
    case 403: return demanded(by: response) ?? end()
    case 301, 302, 303, 307, 308: return redirected(response)
    default: return end()
    }
  }

  /// The account's token after `replaceToken`.
  public mutating func replaced(by fingerprint: String) -> Action {
    guard case .replacing(let refused, let sendsAgain) = state else { return .answer }
    // The provider brought no other token: the answer would be the same.
    guard fingerprint != refused else { return end() }
    isRefreshed = true
    guard sendsAgain else { return end() }
    state = .sending
    hasRenewedNonce = false
    return .send(target)
  }

  private mutating func refused(_ response: Response, _ fingerprint: String) -> Action {
    if NonceRefusal.isOne(response.challenges) { return nonceRefused(response) }
    if let action = demanded(by: response) { return action }
    guard allowsAuthRetry, !hasReplaced else { return end() }
    hasReplaced = true
    // A write without a key gets a new token for the next request, and is not sent again: its caller is told the refusal.
    state = .replacing(fingerprint: fingerprint, sendsAgain: isRead || hasKey)
    return .replaceToken(fingerprint: fingerprint)
  }

  /// Says nothing of the token. Sent again once, so that a server that refuses every nonce gets no loop of requests.
  private mutating func nonceRefused(_ response: Response) -> Action {
    guard response.tellsNonce, !hasRenewedNonce else { return end() }
    hasRenewedNonce = true
    return .send(target)
  }

  private mutating func demanded(by response: Response) -> Action? {
    guard hasSignIn, let demand = InteractionDemand(AuthenticationChallenge.all(in: response.challenges)) else {
      return nil
    }
    state = .ended
    return .interact(demand)
  }

  /// Only a read follows a redirect, and only within its origin; any other redirect is answered as it is.
  private mutating func redirected(_ response: Response) -> Action {
    // RFC 9110 §15.4.4: after a 303 the method is GET, or HEAD.
    guard followsRedirects, isRead, method != "OPTIONS" || response.status != 303, redirects < Self.maximumRedirects,
      let next = response.location.flatMap(target.redirected)
    else { return end() }
    redirects += 1
    hasRenewedNonce = false
    target = next
    return .send(next)
  }

  private mutating func end() -> Action {
    state = .ended
    return .answer
  }
}

/// How a request ended that got no response, and whether it was sent (docs/requests.md).
public enum RequestFailure: Error, Hashable, Sendable {
  /// No byte of the request left.
  case notSent(ConnectFailure)
  /// The request may have been performed.
  case lost(reason: String)
  /// No byte left: the server was not trusted.
  case untrusted(TrustFailure)
  /// The time of the request ran out.
  case timedOut(Outcome)
  /// The caller cancelled the request.
  case cancelled(Outcome)
  /// The response is larger than an answer may be.
  case responseTooLarge
  /// The response repeats the token, which the caller may not have.
  case tokenRepeated

  /// `data.outcome`.
  public enum Outcome: String, Hashable, Sendable { case notSent, unknown }

  public var outcome: Outcome {
    switch self {
    case .notSent, .untrusted: .notSent
    case .lost, .responseTooLarge, .tokenRepeated: .unknown
    case .timedOut(let outcome), .cancelled(let outcome): outcome
    }
  }
}
