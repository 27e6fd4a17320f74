public import AgentModel

/// Decides after each attempt how a revocation continues (RFC 7009 §2.2; docs/sign-out.md, Outbox).
public enum RevocationOutbox {
  /// Bounds of the pause between two attempts.
  public static let shortest = Milliseconds.seconds(30)
  public static let longest = Milliseconds.seconds(6 * 3600)
  /// The pause after a refusal: the server requires other credentials, so an early retry is useless.
  public static let parked = Milliseconds.seconds(24 * 3600)
  /// An entry is abandoned after this time, or when its token has expired, once one more attempt has failed (`isOver`).
  public static let patience = Milliseconds.seconds(30 * 24 * 3600)

  /// The server's response, or `none` if there was no response, or a page in its place.
  public enum Answer: Hashable, Sendable {
    case response(status: Int, error: String?, retryAfter: Milliseconds?)
    case none
  }

  /// The next step of the revocation.
  public enum Verdict: Hashable, Sendable {
    /// The token is invalid, which includes tokens that the server never issued (RFC 7009 §2.2).
    case confirmed
    /// The server can't revoke this type of token; retries are useless.
    case unsupported
    /// The server refuses this client, and says nothing about the token.
    case refused(after: Milliseconds)
    /// The server refuses the secret or token itself, which is what a revoked one gets.
    case refusedForGood
    case again(after: Milliseconds)
  }

  /// RFC 6749 §5.2: errors about the client.
  private static let errorsOfTheClient: Set<String> = ["invalid_client", "unauthorized_client"]

  /// Of a token that is dead already, which RFC 7009 §2.2 wants confirmed: Google says `invalid_token` with 400
  /// (customeros/customeros pull request 11611, read on 2026-11-29).
  public static let errorsOfTheToken: Set<String> = [
    "invalid_token", "invalid_grant", "token_revoked", "token_expired",
  ]

  /// How long an entry waits that was written without the network, unless something tells that the provider may be
  /// reachable. At random: a tool may sign out all agents of an organisation at once.
  public static func postponed(jitter: Double) -> Milliseconds {
    Milliseconds(longest.count / 2 + Int64(Double(longest.count / 2) * jitter))
  }

  /// True if the pause before the next attempt is over.
  public static func isDue(_ nextAttemptAt: Timestamp, at now: Timestamp) -> Bool {
    Backoff.isOver(until: nextAttemptAt, at: now, longest: parked)
  }

  /// The end of the attempts. What a provider tells of a refresh token's lifetime may be wrong, so the provider has to have
  /// answered once before that counts. An access token that has expired is dead.
  ///
  /// - Parameters:
  ///   - expiresAt: when the token expires, as far as it is known.
  ///   - isAnswered: the provider answered a request for this entry.
  public static func end(
    createdAt: Timestamp, expiresAt: Timestamp, isRefreshToken: Bool, isAnswered: Bool
  ) -> Timestamp {
    isRefreshToken && !isAnswered ? max(expiresAt, createdAt + patience) : expiresAt
  }

  /// True if a failed attempt was the last one, so that none is given up without an attempt after its end. By the time
  /// that the agent counted since the entry was made: a wall clock that is set ahead must not end the attempts.
  public static func isOver(after age: Milliseconds, createdAt: Timestamp, end: Timestamp) -> Bool {
    age >= end - createdAt
  }

  /// `jitter` is a fraction from 0 up to, not including, 1; `attempts` includes the latest attempt.
  ///
  /// - Parameter isOwnRequest: the request is the provider's own, which the secret or the token itself authorizes, and none
  ///   of RFC 7009 (docs/secrets.md, Revocation; docs/machines.md, GitHub Apps).
  public static func verdict(
    _ answer: Answer, toOwnRequest isOwnRequest: Bool = false, attempts: Int, jitter: Double
  ) -> Verdict {
    // No rule says what stands in the body of its answer: the status alone counts.
    if isOwnRequest, case .response(let status, _, let pause) = answer {
      switch status {
      case 200..<300, 404, 410: return .confirmed
      case 401, 403: return .refusedForGood
      default: return again(after: pause, attempts: attempts, jitter: jitter)
      }
    }
    switch answer {
    // RFC 7009 §2.2 has 200; some servers say 204.
    case .response(200..<300, nil, _), .response(200..<300, ""?, _): return .confirmed
    case .response(200..<300, let error?, _) where errorsOfTheToken.contains(error),
      .response(400, let error?, _) where errorsOfTheToken.contains(error):
      return .confirmed
    case .response(_, "unsupported_token_type"?, _): return .unsupported
    // 401 and 403 concern the client's permission and say nothing about the token.
    case .response(401, _, _), .response(403, _, _): return .refused(after: parked)
    case .response(200..<500, let error?, _) where errorsOfTheClient.contains(error): return .refused(after: parked)
    case .response(_, _, let pause): return again(after: pause, attempts: attempts, jitter: jitter)
    case .none: return again(after: nil, attempts: attempts, jitter: jitter)
    }
  }

  /// - Parameter pause: as the server told it; nil: it told none.
  private static func again(after pause: Milliseconds?, attempts: Int, jitter: Double) -> Verdict {
    if let pause { return .again(after: min(max(pause, shortest), longest)) }
    let ceiling = min(longest, shortest * (Int64(1) << min(max(attempts - 1, 0), 12)))
    // At least half of the ceiling, so that a failing server gets a pause.
    return .again(after: Milliseconds(ceiling.count / 2 + Int64(Double(ceiling.count / 2) * jitter)))
  }
}
