public import AgentModel

/// When the log may be read again.
///
/// A reading ends the entries that it shows: later repeats of their decisions are counted in new entries, which the
/// client's quota pays for (docs/storage.md, Audit). So the first readings are prompt, and a log in constant use is read
/// once a minute.
public struct ReadPace: Sendable {
  /// Readings at once, after a quiet time.
  static let burst: Int64 = 60
  /// Time in which one reading is earned.
  static let refill = Milliseconds.seconds(60)
  /// Between two readings: what comes meanwhile shares one.
  static let shortest = Milliseconds(250)

  /// When all of `burst` is there again.
  private var whole: BootInstant?
  private var last: BootInstant?

  public init() {}

  /// The earliest moment for the next reading.
  public func next(at now: BootInstant) -> BootInstant {
    let earned = whole.map { $0 + Self.refill * (1 - Self.burst) } ?? now
    return max(now, earned, last.map { $0 + Self.shortest } ?? now)
  }

  /// Notes a reading that found the end of the log. Pages before the end cost nothing: their entries have ended.
  public mutating func read(at now: BootInstant) {
    whole = max(whole ?? now, now) + Self.refill
    last = now
  }
}
