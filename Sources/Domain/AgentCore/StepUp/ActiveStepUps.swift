public import AgentModel

/// Valid step-ups by account and method. Kept in memory only, on the boot clock, which includes sleep.
public struct ActiveStepUps: Hashable, Sendable {
  /// A step-up.
  public struct Moment: Hashable, Sendable {
    public var method: StepUpMethod
    public var at: BootInstant
    /// End of validity, even if a policy accepts a greater age.
    public var until: BootInstant
  }

  private var moments: [AccountID: [StepUpMethod: Moment]] = [:]

  public init() {}

  /// Records a step-up, replacing an earlier one by the same method.
  public mutating func granted(
    _ id: AccountID, by method: StepUpMethod, at now: BootInstant, for duration: Milliseconds
  ) {
    moments[id, default: [:]][method] = Moment(method: method, at: now, until: now + duration)
  }

  /// Removes an account's step-ups; true if there were any.
  public mutating func clear(_ id: AccountID) -> Bool { moments.removeValue(forKey: id) != nil }

  /// Removes all step-ups. Returns the accounts that had one, in order.
  public mutating func clearAll() -> [AccountID] {
    defer { moments = [:] }
    return moments.keys.sorted()
  }

  /// Removes expired step-ups. Returns the accounts that have none left, in order.
  public mutating func expire(at now: BootInstant) -> [AccountID] {
    var ended: [AccountID] = []
    for id in moments.keys.sorted() {
      let valid = valid(id, at: now)
      moments[id] = valid.isEmpty ? nil : Dictionary(uniqueKeysWithValues: valid.map { ($0.method, $0) })
      if valid.isEmpty { ended.append(id) }
    }
    return ended
  }

  /// When the account's last valid step-up ends; nil if it has none.
  public func validUntil(_ id: AccountID, at now: BootInstant) -> BootInstant? {
    valid(id, at: now).map(\.until).max()
  }

  /// The age of each valid step-up.
  public func ages(_ id: AccountID, at now: BootInstant) -> [StepUpMethod: Milliseconds] {
    Dictionary(uniqueKeysWithValues: valid(id, at: now).map { ($0.method, max(.zero, now - $0.at)) })
  }

  /// The remaining validity of each valid step-up.
  public func left(_ id: AccountID, at now: BootInstant) -> [StepUpMethod: Milliseconds] {
    Dictionary(uniqueKeysWithValues: valid(id, at: now).map { ($0.method, $0.until - now) })
  }

  /// The earliest end of a step-up; nil if there are none.
  public var earliest: BootInstant? { moments.values.flatMap { $0.values.map(\.until) }.min() }

  private func valid(_ id: AccountID, at now: BootInstant) -> [Moment] {
    moments[id].map { $0.values.filter { now < $0.until } } ?? []
  }
}
