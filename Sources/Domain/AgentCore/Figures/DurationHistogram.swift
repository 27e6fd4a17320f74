public import AgentModel

/// Durations, counted in fixed buckets (docs/metrics.md). Its memory does not grow.
public struct DurationHistogram: Hashable, Sendable {
  /// The buckets' inclusive upper bounds in milliseconds, ascending. From what the machine's own clock can tell to the
  /// longest time-out of a request.
  public static let bounds: [Int64] = [
    1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000,
  ]

  /// One for each bound, and one for longer durations.
  public private(set) var counts = [Int64](repeating: 0, count: bounds.count + 1)
  public private(set) var sum = Milliseconds.zero

  public init() {}

  public var count: Int64 { counts.reduce(0, &+) }

  /// Counts a duration; a negative one as none, since a suspended process may read its clocks in any order.
  public mutating func record(_ duration: Milliseconds) {
    let duration = max(.zero, duration)
    counts[Self.bounds.firstIndex { duration.count <= $0 } ?? Self.bounds.count] += 1
    // Wraps never in practice, and must not trap: 2^63 ms are 292 million years.
    sum = Milliseconds(sum.count &+ duration.count)
  }
}
