public import AgentModel

/// Locks a vault that nobody has used for as long as the person said, on boot time, so that sleep counts.
///
/// One sleeper at most that is meant: a use does not move it, it looks again when it wakes.
public struct IdleLock: Sendable {
  public enum Effect: Hashable, Sendable {
    /// Call `woke` then.
    case sleep(until: BootInstant)
    case lock
  }

  private let limit: Milliseconds
  private var isOpen = false
  private var lastUse = BootInstant(milliseconds: 0)
  /// Requests that use the vault and are not answered yet: nobody is idle who waits for an answer.
  private var currentExchange = 0
  private var wakesAt: BootInstant?

  /// At least a millisecond.
  public init(after limit: Milliseconds) { self.limit = max(limit, Milliseconds(1)) }

  public mutating func opened(at now: BootInstant) -> Effect? {
    isOpen = true
    lastUse = now
    return plan(at: now)
  }

  /// The sleeper that is left wakes once, and finds nothing to do.
  public mutating func closed() { isOpen = false }

  public mutating func used(at now: BootInstant) { lastUse = max(lastUse, now) }

  public mutating func began(at now: BootInstant) {
    currentExchange += 1
    used(at: now)
  }

  public mutating func ended(at now: BootInstant) -> Effect? {
    currentExchange -= 1
    used(at: now)
    return plan(at: now)
  }

  /// `planned` is the moment that this sleeper slept for; one that is not meant any more changes nothing.
  public mutating func woke(planned: BootInstant, at now: BootInstant) -> Effect? {
    guard wakesAt == planned else { return nil }
    wakesAt = nil
    guard isOpen, currentExchange == 0 else { return nil }
    guard lastUse + limit <= now else { return plan(at: now) }
    return .lock
  }

  private mutating func plan(at now: BootInstant) -> Effect? {
    guard isOpen, currentExchange == 0 else { return nil }
    let due = lastUse + limit
    if let wakesAt, wakesAt <= due { return nil }
    wakesAt = due
    return .sleep(until: due)
  }
}
