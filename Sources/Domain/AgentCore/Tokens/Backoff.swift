public import AgentModel

/// How long to wait after the nth failure in a row: between two thirds of a growing ceiling and all of it.
///
/// The numbers are those of docs/ten-thousand-agents.md: while a provider is down, its agents ask it as often as
/// on a quiet day, and the attempt that finds it again is the exchange itself.
public enum Backoff {
  /// First ceiling. Shorter would only repeat the failure, longer would be felt.
  public static let shortest = Milliseconds.seconds(1)
  /// After an outage all are well within this time. A shorter one would make more requests than a steady state.
  public static let longest = Milliseconds.seconds(600)
  /// From one ceiling to the next. With two, an agent would ask ten times in the first minutes of an outage.
  static let growth: Int64 = 4

  /// `jitter` is a fraction from 0 up to 1, drawn by the caller.
  public static func pause(failures: Int, jitter: Double) -> Milliseconds {
    var ceiling = shortest
    for _ in 0..<min(max(failures - 1, 0), 16) where ceiling < longest { ceiling = min(longest, ceiling * growth) }
    return Milliseconds(Int64(Double(ceiling.count) * (2 + jitter) / 3))
  }

  /// The part of a pause that holds back a caller that waits: a person whose network or provider is back must not wait
  /// for a pause that was made for ten thousand machines.
  public static func forCallers(_ pause: Milliseconds, jitter: Double) -> Milliseconds {
    min(pause, Milliseconds(Int64(Double(longestForCallers.count) * (2 + jitter) / 3)))
  }

  /// The longest pause that a caller meets after failures in a row, unless the provider told how long by `Retry-After`.
  public static let longestForCallers = Milliseconds.seconds(15)

  /// The pause after an answer that told by `Retry-After` how long, if no caller waits. A longer one ends for ten thousand
  /// agents in one moment, as maintenance does: they come over half as long again, at most `longest`.
  public static func spread(_ retryAfter: Milliseconds, jitter: Double) -> Milliseconds {
    guard retryAfter > spreadBeyond else { return max(retryAfter, shortest) }
    let spread = min(retryAfter / 2, longest)
    return retryAfter + Milliseconds(Int64(Double(spread.count) * jitter))
  }

  /// True if a stored pause is over. One that would last longer than any was set while the clock was ahead.
  static func isOver(until moment: Timestamp, at now: Timestamp, longest: Milliseconds) -> Bool {
    moment <= now || moment - now > longest
  }

  /// Within so long the agents of a fleet do not all ask.
  static let spreadBeyond = Milliseconds.seconds(60)
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
