public import AgentModel

/// Locks the vault after a period without use, on the boot clock, so that sleep counts.
///
/// At most one sleep effect is current. A use does not reschedule it: when it ends, `woke` checks again.
public struct IdleLock: Sendable {
  public enum Effect: Hashable, Sendable {
    /// Sleep until then and call `woke`.
    case sleep(until: BootInstant)
    case lock
  }

  private let limit: Milliseconds
  private var isOpen = false
  private var lastUse = BootInstant(milliseconds: 0)
  /// Requests that use the vault and have no response yet. The vault is in use while there are any.
  private var requestsInFlight = 0
  private var wakesAt: BootInstant?

  /// `limit` is raised to at least one millisecond.
  public init(after limit: Milliseconds) { self.limit = max(limit, Milliseconds(1)) }

  public mutating func opened(at now: BootInstant) -> Effect? {
    isOpen = true
    lastUse = now
    return plan(at: now)
  }

  /// The remaining sleep effect ends without an action.
  public mutating func closed() { isOpen = false }

  public mutating func used(at now: BootInstant) { lastUse = max(lastUse, now) }

  public mutating func began(at now: BootInstant) {
    requestsInFlight += 1
    used(at: now)
  }

  public mutating func ended(at now: BootInstant) -> Effect? {
    requestsInFlight -= 1
    used(at: now)
    return plan(at: now)
  }

  /// Ends a sleep effect. `planned` is its deadline; an outdated one has no effect.
  public mutating func woke(planned: BootInstant, at now: BootInstant) -> Effect? {
    guard wakesAt == planned else { return nil }
    wakesAt = nil
    guard isOpen, requestsInFlight == 0 else { return nil }
    guard lastUse + limit <= now else { return plan(at: now) }
    return .lock
  }

  private mutating func plan(at now: BootInstant) -> Effect? {
    guard isOpen, requestsInFlight == 0 else { return nil }
    let due = lastUse + limit
    if let wakesAt, wakesAt <= due { return nil }
    wakesAt = due
    return .sleep(until: due)
  }
}
