public import AgentModel

/// Who proved to be there, when, and until when that counts: in memory alone, on the boot clock, sleep included.
public struct StepUpMoments: Hashable, Sendable {
  public struct Moment: Hashable, Sendable {
    public var method: StepUpMethod
    public var at: BootInstant
    /// From here on it counts for nothing, whatever age a policy would still take.
    public var until: BootInstant
  }

  private var moments: [AccountID: [StepUpMethod: Moment]] = [:]

  public init() {}

  /// Takes the place of the last one by this method.
  public mutating func granted(
    _ id: AccountID, by method: StepUpMethod, at now: BootInstant, for duration: Milliseconds
  ) {
    moments[id, default: [:]][method] = Moment(method: method, at: now, until: now + duration)
  }

  /// True if there was one.
  public mutating func clear(_ id: AccountID) -> Bool { moments.removeValue(forKey: id) != nil }

  /// Those who had one, in order.
  public mutating func clearAll() -> [AccountID] {
    defer { moments = [:] }
    return moments.keys.sorted()
  }

  /// Takes out what is over. Those who have none any more, in order.
  public mutating func expire(at now: BootInstant) -> [AccountID] {
    var over: [AccountID] = []
    for id in moments.keys.sorted() {
      let valid = valid(id, at: now)
      moments[id] = valid.isEmpty ? nil : Dictionary(uniqueKeysWithValues: valid.map { ($0.method, $0) })
      if valid.isEmpty { over.append(id) }
    }
    return over
  }

  /// Until when any of them counts; nil if none does now.
  public func validUntil(_ id: AccountID, at now: BootInstant) -> BootInstant? {
    valid(id, at: now).map(\.until).max()
  }

  /// How long ago the person proved to be there, by each method; nothing once that is over.
  public func ages(_ id: AccountID, at now: BootInstant) -> [StepUpMethod: Milliseconds] {
    Dictionary(uniqueKeysWithValues: valid(id, at: now).map { ($0.method, max(.zero, now - $0.at)) })
  }

  /// For how much longer it counts at all, by each method.
  public func left(_ id: AccountID, at now: BootInstant) -> [StepUpMethod: Milliseconds] {
    Dictionary(uniqueKeysWithValues: valid(id, at: now).map { ($0.method, $0.until - now) })
  }

  /// When the next one is over.
  public var earliest: BootInstant? { moments.values.flatMap { $0.values.map(\.until) }.min() }

  private func valid(_ id: AccountID, at now: BootInstant) -> [Moment] {
    moments[id].map { $0.values.filter { now < $0.until } } ?? []
  }
}
