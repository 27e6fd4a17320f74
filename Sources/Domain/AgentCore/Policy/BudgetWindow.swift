public import AgentModel

/// How often a capability was used in the last hour, in one counter for each minute (docs/offline.md, Budgets).
///
/// It runs on the boot clock, and over a reboot on the uptime of the new boot: no person and no server sets these. A
/// use counts for 60 to 61 minutes, since a minute is counted as a whole.
///
/// - B1: in no 60 minutes are more uses taken than the budget has.
public struct BudgetWindow: Hashable, Sendable {
  /// The current minute, and the 60 before it.
  public static let minutes = 61
  private static let minute: Int64 = 60_000

  /// When it was last advanced, in the boot with this id.
  public private(set) var at: BootInstant
  public private(set) var bootID: String
  /// How much of the current minute has passed.
  public private(set) var elapsed: Milliseconds
  /// The uses of each minute, the current one first.
  public private(set) var counts: [Int64]

  public init(at now: BootInstant, bootID: String) {
    at = now
    self.bootID = bootID
    elapsed = .zero
    counts = Array(repeating: 0, count: Self.minutes)
  }

  /// A stored one; nil for counters that none has.
  public init?(at: BootInstant, bootID: String, elapsed: Milliseconds, counts: [Int64]) {
    guard counts.count == Self.minutes, counts.allSatisfy({ $0 >= 0 }), elapsed >= .zero, elapsed.count < Self.minute
    else { return nil }
    self.at = at
    self.bootID = bootID
    self.elapsed = elapsed
    self.counts = counts
  }

  /// The time after a reboot is counted from its start: how long the machine was off is known from no clock that can't
  /// be set.
  public mutating func advance(to now: BootInstant, bootID: String) {
    let passed = bootID == self.bootID ? max(.zero, now - at) : max(.zero, now - BootInstant(milliseconds: 0))
    if bootID != self.bootID || now > at { at = now }
    self.bootID = bootID
    pass(passed)
  }

  /// Without a clock, for a decision about a later moment.
  public mutating func pass(_ span: Milliseconds) {
    let total = elapsed + max(.zero, span)
    elapsed = Milliseconds(total.count % Self.minute)
    let passed = Int(min(total.count / Self.minute, Int64(Self.minutes)))
    counts = Array((Array(repeating: 0, count: passed) + counts).prefix(Self.minutes))
  }

  /// How long it takes until a use is free; nil if one is now.
  public func wait(perHour budget: Int64) -> Milliseconds? {
    guard counts.reduce(0, +) >= budget else { return nil }
    var sum: Int64 = 0
    var kept = 0
    while kept < counts.count, sum + counts[kept] < budget {
      sum += counts[kept]
      kept += 1
    }
    // The minute at `kept` has to pass out of the window.
    return Milliseconds(Int64(Self.minutes - kept) * Self.minute) - elapsed
  }

  public mutating func take() { counts[0] += 1 }
}
