public import AgentModel

/// Counts the attempts at a PIN and decides when the next one is allowed (docs/offline.md, Step-up).
///
/// An attempt is counted durably before it is judged, so that a kill, a full disk or a concurrent caller can't undo the
/// count. A correct attempt removes only itself from the count.
///
/// - P1: at most `maximum` attempts at one PIN are ever judged wrong. A correct PIN does not reset the count, so
///   guesses between the person's own step-ups gain nothing. Only a new PIN, which requires a valid step-up, resets it.
/// - P2: consecutive wrong attempts lengthen the pauses between them; a correct one ends the pauses.
/// - P3: pauses are measured on the boot clock. After a reboot the full pause starts again, since the time that the
///   machine was off is unknown; the wall clock is never used.
public struct StepUpAttempts: Hashable, Sendable {
  /// Number of wrong attempts after which a PIN is destroyed (docs/offline.md, Step-up).
  public static let maximum = 10
  /// Consecutive wrong attempts without a pause: people mistype.
  public static let withoutPause = 3
  /// Upper bound for a pause. Ten attempts then take at least 90 seconds; longer pauses would only hinder the person.
  public static let longestPause = Milliseconds.seconds(30)

  /// Attempts that were started and not found correct.
  public private(set) var spent: Int
  /// Attempts since the last correct one.
  public private(set) var inARow: Int
  /// When the last attempt started, and in which boot.
  public private(set) var lastAt: BootInstant
  public private(set) var lastBootID: String

  /// For a new PIN.
  public init() { self.init(spent: 0, inARow: 0, lastAt: BootInstant(milliseconds: 0), lastBootID: "") }

  /// From a stored record. A value out of bounds is replaced by the stricter bound.
  public init(spent: Int, inARow: Int, lastAt: BootInstant, lastBootID: String) {
    self.spent = spent < 0 ? Self.maximum : spent
    self.inARow = min(max(0, inARow), Self.maximum)
    self.lastAt = lastAt
    self.lastBootID = lastBootID
  }

  /// The count in a backup's record of a PIN, with the attempts that this vault noted at the same PIN: P1 holds for every
  /// copy of a PIN.
  public func after(_ noted: StepUpAttempts) -> StepUpAttempts {
    StepUpAttempts(
      spent: max(spent, noted.spent), inARow: max(inARow, noted.inARow), lastAt: noted.lastAt,
      lastBootID: noted.lastBootID)
  }

  /// What to note of this count in place of an earlier note of the same PIN. It may tell of attempts that this count does
  /// not: only one that was correct lowers it, by itself.
  public func noted(over note: StepUpAttempts, wasRight: Bool) -> StepUpAttempts {
    var note = note
    if wasRight { note.wasRight() }
    return note.after(self)
  }

  /// Number of attempts that remain.
  public var left: Int { max(0, Self.maximum - spent) }

  /// Whether an attempt may be judged.
  public enum Admission: Hashable, Sendable {
    /// The attempt is counted. Judge it once the count is durable.
    case counted
    /// Too early: the attempt is not counted and must not be judged.
    case throttled(retryAfter: Milliseconds)
    /// No attempt remains: destroy the PIN.
    case spent
  }

  /// Starts an attempt.
  public mutating func begin(at now: BootInstant, bootID: String) -> Admission {
    guard left > 0 else { return .spent }
    let wait = waiting(at: now, bootID: bootID)
    guard wait <= .zero else { return .throttled(retryAfter: wait) }
    spent += 1
    inARow += 1
    (lastAt, lastBootID) = (now, bootID)
    return .counted
  }

  /// The last attempt was correct.
  public mutating func wasRight() {
    spent = max(0, spent - 1)
    inARow = 0
  }

  /// Time until the next attempt is allowed; zero if it is allowed now.
  public func waiting(at now: BootInstant, bootID: String) -> Milliseconds {
    // After a reboot, or if the boot clock ran back (a restored machine), the full pause applies.
    let since = bootID != lastBootID ? BootInstant(milliseconds: 0) : min(lastAt, now)
    return max(.zero, since + pause - now)
  }

  /// One second after the third consecutive wrong attempt, doubled by each further one.
  private var pause: Milliseconds {
    guard inARow >= Self.withoutPause else { return .zero }
    return min(Self.longestPause, .seconds(1) * (Int64(1) << Int64(min(inARow - Self.withoutPause, 16))))
  }
}
