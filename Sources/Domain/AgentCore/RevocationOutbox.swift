public import AgentModel

/// What happens to a token that must be revoked, after each try (RFC 7009 §2.2; DESIGN, Sign-out: Outbox).
public enum RevocationOutbox {
  /// Shortest and longest pause between two tries.
  public static let shortest = Milliseconds.seconds(30)
  public static let longest = Milliseconds.seconds(6 * 3600)
  /// A server that wants other credentials than a public client has: asking sooner changes nothing.
  public static let parked = Milliseconds.seconds(24 * 3600)
  /// An entry is given up after this long, or when its token has expired.
  public static let patience = Milliseconds.seconds(30 * 24 * 3600)

  /// What a server's answer, or its absence, says about the token.
  public enum Answer: Hashable, Sendable {
    case response(status: Int, error: String?, retryAfter: Milliseconds?)
    case none
  }

  public enum Verdict: Hashable, Sendable {
    /// The server says that the token is dead; also for tokens that it never knew.
    case confirmed
    /// The server can't revoke such tokens: no try will change that.
    case unsupported
    case again(after: Milliseconds)
  }

  /// `jitter` is a fraction from 0 up to 1; `attempts` counts the one just made.
  public static func verdict(_ answer: Answer, attempts: Int, jitter: Double) -> Verdict {
    switch answer {
    case .response(200, _, _): return .confirmed
    case .response(_, "unsupported_token_type"?, _): return .unsupported
    // 401 says that we may not ask, never that the token is dead; so does 403.
    case .response(401, _, _), .response(403, _, _): return .again(after: parked)
    case .response(_, _, let pause?): return .again(after: min(max(pause, shortest), longest))
    case .response, .none:
      let ceiling = min(longest, shortest * (Int64(1) << min(max(attempts - 1, 0), 12)))
      // Half of it is certain, so that a failing server is left in peace.
      return .again(after: Milliseconds(ceiling.count / 2 + Int64(Double(ceiling.count / 2) * jitter)))
    }
  }
}
