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

  /// Counts another one; false if it needs an entry of its own: an hour has passed, or the clock was set back.
  public mutating func add(at now: Timestamp) -> Bool {
    guard now >= lastAt, now - firstAt < Self.longest else { return false }
    count += 1
    lastAt = now
    return true
  }
}
