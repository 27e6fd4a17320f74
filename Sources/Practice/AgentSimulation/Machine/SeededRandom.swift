public import AgentPorts
internal import Synchronization

/// SplitMix64: small and fast, and every seed, also 0 and 1, gives an unrelated sequence.
package struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// The entropy of a simulated process: the same ids, states, nonces and jitter for the same seed.
public final class SeededEntropy: Entropy {
  private let random: Mutex<SeededRandom>

  public init(seed: UInt64) { random = Mutex(SeededRandom(seed: seed)) }

  public func bytes(_ count: Int) -> [UInt8] {
    random.withLock { random in
      var bytes: [UInt8] = []
      bytes.reserveCapacity(count + 7)
      while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
      return Array(bytes.prefix(count))
    }
  }

  /// A number in the range, for a scenario's latencies and choices.
  public func number(in range: ClosedRange<Int64>) -> Int64 { random.withLock { .random(in: range, using: &$0) } }
}
