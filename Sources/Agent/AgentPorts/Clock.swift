public import AgentModel

/// The machine's two clocks: the wall clock for the wire and for people, the boot clock for lifetimes.
public protocol AgentClock: Sendable {
  /// The wall clock. A person may set it, so it can jump both ways.
  func wall() -> Timestamp
  /// Time since boot, including sleep. It never runs backwards.
  func boot() -> BootInstant
  /// An id of this boot, different after each reboot.
  var bootID: String { get }
  /// Returns when `deadline` has passed, or at once when the task is cancelled.
  func sleep(until deadline: BootInstant) async
}

extension AgentClock {
  /// A moment so long ago by the wall clock as it is set now. `dated`: what the clock showed then, which stands unless it
  /// was set by a second or more since: the two clocks are not read at once.
  public func wall(ago: Milliseconds, dated: Timestamp) -> Timestamp {
    let shown = wall() + (.zero - ago)
    let difference = shown - dated
    return max(difference, .zero - difference) < .seconds(1) ? dated : shown
  }
}

/// Random bytes for ids, state, nonce and jitter, which a simulation can seed. Keys and encryption nonces come from
/// `Secrets`.
public protocol Entropy: Sendable {
  /// `count` random bytes.
  func bytes(_ count: Int) -> [UInt8]
}

extension Entropy {
  /// A random number from 0 up to, not including, 1, in 65,536 steps, which is fine enough for jitter.
  public func fraction() -> Double { Double(bytes(2).reduce(0) { $0 << 8 | Int($1) }) / 65_536 }
}
