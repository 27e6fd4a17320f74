public import AgentModel

/// Wrong passphrases. Argon2id makes each guess dear; this makes many of them slow.
///
/// A try is counted before it is judged, so that tries that come together are not judged by one count; and a right one
/// forgives none of the wrong ones: whoever guesses between the openings of a person would have new tries each time.
/// What forgives is time.
public struct UnlockThrottle: Sendable {
  /// A person mistypes.
  static let free = 3
  static let longest = Milliseconds.seconds(60)
  /// Per wrong one.
  static let forgivenAfter = Milliseconds.seconds(600)

  private var failures = 0
  private var lastFailure = BootInstant(milliseconds: 0)
  private var nextTry: BootInstant?

  public init() {}

  /// Counts a try that is about to be judged; how long to wait if it may not be made yet, and then nothing is counted.
  public mutating func begin(at now: BootInstant) -> Milliseconds? {
    if let nextTry, now < nextTry { return nextTry - now }
    forgive(at: now)
    failures += 1
    lastFailure = now
    nextTry = failures < Self.free ? nil : now + pause
    return nil
  }

  /// It was wrong, and judging it took its time. How long to wait now.
  public mutating func wasWrong(at now: BootInstant) -> Milliseconds {
    guard failures >= Self.free else { return Milliseconds(1) }
    nextTry = now + pause
    return pause
  }

  /// It was right, or could not be judged: this one is not counted.
  public mutating func wasNotWrong() {
    failures -= 1
    nextTry = nil
  }

  private var pause: Milliseconds { min(Self.longest, .seconds(1) * (Int64(1) << min(failures - Self.free, 6))) }

  private mutating func forgive(at now: BootInstant) {
    while failures > 0, lastFailure + Self.forgivenAfter <= now {
      failures -= 1
      lastFailure = lastFailure + Self.forgivenAfter
    }
  }
}
