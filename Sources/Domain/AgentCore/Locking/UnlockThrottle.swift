public import AgentModel

/// Slows down guessing of the vault passphrase, in addition to Argon2id.
///
/// An attempt is counted before it is judged, so that concurrent attempts are not judged under one count. A correct
/// attempt does not reset the count, or guesses between a person's unlocks would be free; only time reduces it.
public struct UnlockThrottle: Sendable {
  /// Wrong attempts without a pause: people mistype.
  static let withoutPause = 3
  static let longestPause = Milliseconds.seconds(60)
  /// The time that removes one wrong attempt from the count.
  static let forgivenAfter = Milliseconds.seconds(600)

  private var failures = 0
  private var lastFailure = BootInstant(milliseconds: 0)
  private var nextTry: BootInstant?

  public init() {}

  /// Counts an attempt. Returns the time to wait if it is not allowed yet; then it is not counted.
  public mutating func begin(at now: BootInstant) -> Milliseconds? {
    if let nextTry, now < nextTry { return nextTry - now }
    forgive(at: now)
    failures += 1
    lastFailure = now
    nextTry = failures < Self.withoutPause ? nil : now + pause
    return nil
  }

  /// The attempt was wrong. Returns the time until the next one; judging may have taken a while.
  public mutating func wasWrong(at now: BootInstant) -> Milliseconds {
    guard failures >= Self.withoutPause else { return Milliseconds(1) }
    nextTry = now + pause
    return pause
  }

  /// The attempt was correct, or could not be judged: it is removed from the count.
  public mutating func wasNotWrong() {
    failures -= 1
    nextTry = nil
  }

  private var pause: Milliseconds {
    min(Self.longestPause, .seconds(1) * (Int64(1) << min(failures - Self.withoutPause, 6)))
  }

  private mutating func forgive(at now: BootInstant) {
    while failures > 0, lastFailure + Self.forgivenAfter <= now {
      failures -= 1
      lastFailure = lastFailure + Self.forgivenAfter
    }
  }
}
