public import AgentModel

/// How often a PIN may still be tried, and when (DESIGN, Step-up).
///
/// A try is counted, durably, before it is judged, so that nothing that happens between the two gives one back: a kill,
/// a full disk, a second caller. Only a right PIN takes its own try back.
///
/// - P1: at most `most` tries of one PIN are ever judged wrong. A right PIN gives none of the wrong ones back: whoever
///   guesses between the owner's own sign-ons gains nothing by their being right. What gives ten new tries is a new PIN,
///   which takes a valid step-up. A person who types well sees the number fall in time and sets one.
/// - P2: wrong tries in a row grow the pauses between them; a right one ends that, for it was the person.
/// - P3: pauses are counted on the boot clock. After a reboot the whole pause is counted again from the boot, since
///   nobody knows how long the machine was off; the wall clock is never asked.
public struct StepUpAttempts: Hashable, Sendable {
  /// Tries that a PIN is good for (API.md).
  public static let most = 10
  /// Wrong tries in a row before pauses begin: a person mistypes.
  public static let free = 3
  /// Ten tries then take a minute and a half; more would lock out the person, whom the ten protect already.
  public static let longestPause = Milliseconds.seconds(30)

  /// Tries that were begun and have not been found right.
  public private(set) var spent: Int
  /// Of them, those since the last right one.
  public private(set) var inARow: Int
  /// When the last of them was begun, and in which boot.
  public private(set) var lastAt: BootInstant
  public private(set) var lastBootID: String

  /// Of a new PIN.
  public init() { self.init(spent: 0, inARow: 0, lastAt: BootInstant(milliseconds: 0), lastBootID: "") }

  /// As it was remembered. Numbers outside the bounds are brought to the side that protects.
  public init(spent: Int, inARow: Int, lastAt: BootInstant, lastBootID: String) {
    self.spent = spent < 0 ? Self.most : spent
    self.inARow = min(max(0, inARow), Self.most)
    self.lastAt = lastAt
    self.lastBootID = lastBootID
  }

  public var left: Int { max(0, Self.most - spent) }

  /// What a try comes to before it is judged.
  public enum Admission: Hashable, Sendable {
    /// It is counted; it may be judged once that is durable.
    case counted
    /// Not counted, and not to be judged.
    case throttled(retryAfter: Milliseconds)
    /// Every try is spent: the PIN is to be destroyed, if it is not yet.
    case spent
  }

  public mutating func begin(at now: BootInstant, bootID: String) -> Admission {
    guard left > 0 else { return .spent }
    let wait = waiting(at: now, bootID: bootID)
    guard wait <= .zero else { return .throttled(retryAfter: wait) }
    spent += 1
    inARow += 1
    (lastAt, lastBootID) = (now, bootID)
    return .counted
  }

  /// The try that was begun last was right.
  public mutating func wasRight() {
    spent = max(0, spent - 1)
    inARow = 0
  }

  /// How long until the next try is taken; zero if it is now.
  public func waiting(at now: BootInstant, bootID: String) -> Milliseconds {
    // Of another boot, or from a clock that ran back (a restored machine): all of it, from the boot or from now.
    let since = bootID != lastBootID ? BootInstant(milliseconds: 0) : min(lastAt, now)
    return max(.zero, since + pause - now)
  }

  /// One second after the third wrong one in a row, twice as long after each further one.
  private var pause: Milliseconds {
    guard inARow >= Self.free else { return .zero }
    return min(Self.longestPause, .seconds(1) * (Int64(1) << Int64(min(inARow - Self.free, 16))))
  }
}
