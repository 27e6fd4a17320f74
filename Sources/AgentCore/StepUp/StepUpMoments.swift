public import AgentModel

/// Who proved to be there, when, and until when that counts: in memory alone, on the boot clock, sleep included.
public struct StepUpMoments: Hashable, Sendable {
  public struct Moment: Hashable, Sendable {
    public var method: StepUpMethod
    public var at: BootInstant
    /// From here on it counts for nothing, whatever age a policy would still take.
    public var until: BootInstant
  }

  private var moments: [AccountID: Moment] = [:]

  public init() {}

  public mutating func granted(
    _ id: AccountID, by method: StepUpMethod, at now: BootInstant, for duration: Milliseconds
  ) {
    moments[id] = Moment(method: method, at: now, until: now + duration)
  }

  /// True if there was one.
  public mutating func clear(_ id: AccountID) -> Bool { moments.removeValue(forKey: id) != nil }

  /// Those who had one, in order.
  public mutating func clearAll() -> [AccountID] {
    defer { moments = [:] }
    return moments.keys.sorted()
  }

  /// Takes out what is over, in order.
  public mutating func expire(at now: BootInstant) -> [AccountID] {
    let over = moments.filter { $0.value.until <= now }.keys.sorted()
    for id in over { moments[id] = nil }
    return over
  }

  public func valid(_ id: AccountID, at now: BootInstant) -> Moment? {
    moments[id].flatMap { now < $0.until ? $0 : nil }
  }

  /// How long ago the person proved to be there, by each method; nothing once that is over.
  public func ages(_ id: AccountID, at now: BootInstant) -> [StepUpMethod: Milliseconds] {
    valid(id, at: now).map { [$0.method: max(.zero, now - $0.at)] } ?? [:]
  }

  /// For how much longer it counts at all, by each method.
  public func left(_ id: AccountID, at now: BootInstant) -> [StepUpMethod: Milliseconds] {
    valid(id, at: now).map { [$0.method: $0.until - now] } ?? [:]
  }

  /// When the next one is over.
  public var earliest: BootInstant? { moments.values.map(\.until).min() }
}
