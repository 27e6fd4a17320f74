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
  /// The count stops here: a higher one would take longer than a day to be forgiven.
  static let mostFailures = 150

  private var failures = 0
  private var lastFailure = BootInstant(milliseconds: 0)
  private var nextAttempt: BootInstant?

  public init() {}

  /// The time until the next attempt is allowed; nil if it is allowed now.
  public func pause(at now: BootInstant) -> Milliseconds? {
    nextAttempt.flatMap { now < $0 ? $0 - now : nil }
  }

  /// Counts an attempt. Returns the time to wait if it is not allowed yet; then it is not counted.
  public mutating func begin(at now: BootInstant) -> Milliseconds? {
    if let pause = pause(at: now) { return pause }
    forgive(at: now)
    failures = min(failures + 1, Self.mostFailures)
    lastFailure = now
    nextAttempt = failures < Self.withoutPause ? nil : now + pause
    return nil
  }

  /// The attempt was wrong. Returns the time until the next one; judging may have taken a while.
  public mutating func wasWrong(at now: BootInstant) -> Milliseconds {
    guard failures >= Self.withoutPause else { return Milliseconds(1) }
    nextAttempt = now + pause
    return pause
  }

  /// The attempt was correct, or could not be judged: it is removed from the count.
  public mutating func wasNotWrong() {
    failures = max(failures - 1, 0)
    nextAttempt = nil
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

// MARK: over a restart

extension UnlockThrottle {
  private static let heading = "lanyard-throttle-1"

  /// The throttle as text, for the next process. All times are those of the boot clock, so that no change of the wall
  /// clock shortens or lengthens a pause.
  public func text(bootID: String) -> String {
    let next = nextAttempt.map { String($0.milliseconds) } ?? "-"
    return "\(Self.heading) \(failures) \(lastFailure.milliseconds) \(next) \(bootID)"
  }

  /// Reads what `text(bootID:)` wrote; nil for anything else.
  ///
  /// After a reboot the time since then is at least that since the new boot began, and nothing more is known: the pause
  /// and the time of forgiveness count from there. No text makes the pause longer than the longest one.
  public init?(text: String, at now: BootInstant, bootID: String) {
    let fields = text.split(separator: " ", omittingEmptySubsequences: false)
    guard fields.count == 5, fields[0] == Self.heading, let failures = Int(fields[1]), failures >= 0,
      let last = Int64(fields[2]), fields[3] == "-" || Int64(fields[3]) != nil
    else { return nil }
    self.failures = min(failures, Self.mostFailures)
    let isThisBoot = fields[4] == bootID
    lastFailure = isThisBoot ? min(BootInstant(milliseconds: last), now) : BootInstant(milliseconds: 0)
    guard let next = Int64(fields[3]) else { return }
    let (pause, overflows) = next.subtractingReportingOverflow(last)
    nextAttempt =
      isThisBoot
      ? min(BootInstant(milliseconds: next), now + Self.longestPause)
      : BootInstant(milliseconds: 0) + min(overflows ? Self.longestPause : Milliseconds(pause), Self.longestPause)
  }

  /// The stricter of two counts of the same attempts.
  public static func stricter(_ a: UnlockThrottle, _ b: UnlockThrottle) -> UnlockThrottle {
    var both = a.failures >= b.failures ? a : b
    both.nextAttempt = [a.nextAttempt, b.nextAttempt].compactMap(\.self).max()
    return both
  }
}
