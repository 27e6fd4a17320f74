public import AgentModel

/// How long to wait after the nth failure in a row: full jitter between nothing and a doubling ceiling.
public enum Backoff {
  /// First ceiling. Shorter would only repeat the failure, longer would be felt.
  public static let shortest = Milliseconds.seconds(1)
  public static let longest = Milliseconds.seconds(300)

  /// `jitter` is a fraction from 0 up to 1, drawn by the caller.
  public static func pause(failures: Int, jitter: Double) -> Milliseconds {
    let doublings = min(max(failures - 1, 0), 16)
    let ceiling = min(longest, shortest * (Int64(1) << doublings))
    return Milliseconds(Int64(Double(ceiling.count) * jitter))
  }
}

/// When a token is refreshed before it expires: clamp(15 % of its lifetime, 15 s, 300 s), or as the provider says.
public enum LeadTime {
  public static func of(lifetime: Milliseconds, refreshIn: Milliseconds? = nil) -> Milliseconds {
    if let refreshIn, refreshIn > .zero, refreshIn < lifetime { return lifetime - refreshIn }
    let lead = min(max(lifetime * 15 / 100, .seconds(15)), .seconds(300))
    // A token that lives hardly longer than its lead would never be fresh.
    return min(lead, lifetime / 2)
  }
}

/// When a token in use is renewed before a caller has to wait for it: somewhere in the first half of the time in which
/// it is stale, so that many accounts, and many machines, do not come at once.
public enum RenewalTime {
  /// A provider is never asked faster than this without being asked for, however short its tokens live.
  public static let fastest = Milliseconds.seconds(15)

  /// Nil if the token would be over by then. `jitter` is a fraction from 0 up to 1.
  public static func of(
    issuedAt: BootInstant, refreshAt: BootInstant, expiresAt: BootInstant, jitter: Double
  ) -> BootInstant? {
    guard refreshAt < expiresAt else { return nil }
    let spread = Int64(Double((expiresAt - refreshAt).count) / 2 * jitter)
    let moment = max(refreshAt, issuedAt + fastest) + Milliseconds(spread)
    return moment < expiresAt ? moment : nil
  }
}
