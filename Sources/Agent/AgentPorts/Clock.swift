public import AgentModel

/// The two clocks of the machine. Wall time is for the wire and for people, boot time for lifetimes.
public protocol AgentClock: Sendable {
  /// The wall clock, which a person may set.
  func wall() -> Timestamp
  /// Time since boot, sleep included, which nobody can set.
  func boot() -> BootInstant
  /// Tells one boot from the next.
  var bootID: String { get }
  /// Returns at `deadline`, or at once when the task is cancelled.
  func sleep(until deadline: BootInstant) async
}

/// Randomness that a simulation can seed: ids, state, nonce, jitter. Keys and seals do not come from here.
public protocol Entropy: Sendable {
  func bytes(_ count: Int) -> [UInt8]
}

extension Entropy {
  /// From 0 up to 1, in 65,536 steps: fine enough to keep retries apart.
  public func fraction() -> Double { Double(bytes(2).reduce(0) { $0 << 8 | Int($1) }) / 65_536 }
}
