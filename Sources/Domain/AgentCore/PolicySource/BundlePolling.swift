public import AgentModel

/// When an agent asks its policy source: a pure machine. Its owner performs one fetch at a time.
///
/// Each moment is drawn from a span, so that ten thousand agents that start, wake or lose the server together come back
/// apart (docs/policy-bundles.md). `jitter` is a fraction from 0 up to 1, drawn by the caller.
public struct BundlePolling: Hashable, Sendable {
  /// How a fetch ended.
  public enum Outcome: Hashable, Sendable {
    /// The source confirmed the bundle in force, or brought a later one.
    case confirmed
    /// No server answered.
    case unreached
    /// A server answered with something else; `retryAfter` is what it asked for.
    case refused(retryAfter: Milliseconds?)
  }

  /// What the owner does for a call that asks for a fetch now.
  public enum Asked: Hashable, Sendable { case begin, join }

  private enum Standing: Hashable {
    case confirmed
    case unreached(failures: Int)
    case refused(failures: Int)

    var failures: Int {
      switch self {
      case .confirmed: 0
      case .unreached(let failures), .refused(let failures): failures
      }
    }
  }

  private let interval: Milliseconds
  private var standing = Standing.confirmed
  private var isFetching = false
  private var lastBegan: BootInstant?
  /// When the next fetch begins; nil before `start` and during a fetch.
  public private(set) var nextAt: BootInstant?

  /// The ceiling of the first pause after a failure while decisions wait for a bundle; it doubles up to the interval and
  /// to `longestPause`. Else the first one is three quarters of the interval: no program waits, and an hour's outage that ten
  /// thousand agents met at doubling pauses from 30 s on would end with eight times the steady load; so it is two.
  public static let firstPause = Milliseconds.seconds(30)
  public static let longestPause = Milliseconds.seconds(3_600)
  /// A server's `Retry-After` counts up to this: a mistake in it must not silence an agent for good.
  public static let longestRetryAfter = Milliseconds.seconds(86_400)
  /// In how long agents that are overdue together come back, if their interval is not shorter.
  public static let spread = Milliseconds.seconds(300)
  /// The same while decisions wait for it.
  public static let urgentSpread = Milliseconds.seconds(30)
  /// The first fetch of an agent that never had a bundle: a person waits, and machines are set up one by one.
  public static let firstSpread = Milliseconds.seconds(1)
  /// A fetch that is late by more was slept through: the network is not there yet, and others wake too.
  public static let lateness = Milliseconds.seconds(60)
  /// Between two fetches because of a network that comes and goes.
  public static let quietest = Milliseconds.seconds(10)

  public init(every interval: Milliseconds) { self.interval = interval }

  /// A start, or an unlock of the vault. `age`: since the last confirmation, nil for none. `isUrgent`: it is too old, so
  /// decisions are denied until the next.
  public mutating func start(age: Milliseconds?, isUrgent: Bool, at now: BootInstant, jitter: Double) {
    guard !isFetching else { return }
    guard let age else {
      nextAt = now + Self.part(jitter, of: min(Self.firstSpread, interval))
      return
    }
    let left = Self.around(interval, jitter) - max(.zero, age)
    nextAt = now + (left > .zero && !isUrgent ? left : Self.part(jitter, of: spread(isUrgent: isUrgent)))
  }

  /// The moment `nextAt` has come. True if a fetch begins now.
  public mutating func begin(at now: BootInstant, jitter: Double) -> Bool {
    guard !isFetching, let due = nextAt, due <= now else { return false }
    guard now - due <= Self.lateness else {
      nextAt = now + Self.part(jitter, of: spread(isUrgent: false))
      return false
    }
    fetch(at: now)
    return true
  }

  /// A person asks for a fetch now, whatever is due when.
  public mutating func ask(at now: BootInstant) -> Asked {
    guard !isFetching else { return .join }
    fetch(at: now)
    return .begin
  }

  /// The network may have returned, or the machine woke.
  public mutating func mayBeReachable(at now: BootInstant, jitter: Double) {
    guard !isFetching, let due = nextAt else { return }
    let isUnreached = if case .unreached = standing { true } else { false }
    guard isUnreached || due <= now else { return }
    let earliest = lastBegan.map { $0 + min(Self.quietest, interval) } ?? now
    let soon = max(earliest, now + Self.part(jitter, of: spread(isUrgent: true)))
    nextAt = due > now ? min(due, soon) : soon
  }

  /// A fetch has ended. `isUrgent` as in `start`.
  public mutating func ended(_ outcome: Outcome, isUrgent: Bool = false, at now: BootInstant, jitter: Double) {
    guard isFetching else { return }
    isFetching = false
    let failures = standing.failures + 1
    var asked = Milliseconds.zero
    switch outcome {
    case .confirmed:
      standing = .confirmed
      nextAt = now + Self.around(interval, jitter)
      return
    case .unreached: standing = .unreached(failures: failures)
    case .refused(let retryAfter):
      standing = .refused(failures: failures)
      asked = min(retryAfter ?? .zero, Self.longestRetryAfter)
    }
    let first = isUrgent ? Self.firstPause : max(Self.firstPause, min(interval, Self.longestPause) * 3 / 4)
    let doubled = first * (Int64(1) << min(failures - 1, 16))
    let ceiling = min(doubled, min(Self.longestPause, interval))
    nextAt = now + max(asked, ceiling / 2 + Self.part(jitter, of: ceiling / 2))
  }

  private mutating func fetch(at now: BootInstant) {
    isFetching = true
    lastBegan = now
    nextAt = nil
  }

  private func spread(isUrgent: Bool) -> Milliseconds {
    min(isUrgent ? Self.urgentSpread : Self.spread, interval / 2)
  }

  private static func part(_ jitter: Double, of span: Milliseconds) -> Milliseconds {
    Milliseconds(Int64(Double(span.count) * jitter))
  }

  /// From 90 % to 110 %: agents that once came together drift apart.
  private static func around(_ interval: Milliseconds, _ jitter: Double) -> Milliseconds {
    interval - interval / 10 + part(jitter, of: interval / 5)
  }
}
