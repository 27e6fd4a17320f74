public import AgentModel

/// How often an entry of the audit log happened.
public struct AuditRepeats: Hashable, Sendable {
  public var count: Int64 = 1
  public var firstAt: Timestamp
  public var lastAt: Timestamp

  /// An entry stands for one hour at most, so that the log still tells when something happened.
  public static let longest = Milliseconds.seconds(3_600)

  public init(at: Timestamp) {
    firstAt = at
    lastAt = at
  }

  /// Adds later repeats that were counted outside the log.
  public mutating func add(_ later: AuditRepeats) {
    count += later.count
    lastAt = max(lastAt, later.lastAt)
  }

  /// Counts another one; false if it needs an entry of its own: an hour has passed, or the clock was set back.
  public mutating func add(at now: Timestamp) -> Bool {
    guard now >= lastAt, now - firstAt < Self.longest else { return false }
    count += 1
    lastAt = now
    return true
  }
}

/// The repeats of one entry that no commit has yet.
public struct RepeatTally: Hashable, Sendable {
  /// The number of the entry.
  public var sequence: Int64
  public var repeats: AuditRepeats

  public init(sequence: Int64, repeats: AuditRepeats) {
    self.sequence = sequence
    self.repeats = repeats
  }
}
