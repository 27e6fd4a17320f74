public import AgentModel

/// How long to wait after the nth failure in a row of a collector: a doubling time up to a minute, of which half is drawn,
/// so that ten thousand machines do not come at once when their collector is back.
public enum RetryPause {
  static let shortest = Milliseconds.seconds(1)
  static let longest = Milliseconds.seconds(60)

  /// - Parameters:
  ///   - jitter: a fraction from 0 up to 1.
  ///   - asked: what the collector asks for, which is the least.
  public static func after(failures: Int, jitter: Double, asked: Milliseconds? = nil) -> Milliseconds {
    let doublings = min(max(failures - 1, 0), 6)
    let ceiling = min(longest, shortest * (Int64(1) << doublings))
    let drawn = Milliseconds(Int64(Double(ceiling.count) * (1 + jitter) / 2))
    // Machines that were told the same time are spread, too.
    return asked.map { max($0 + Milliseconds(Int64(Double(min($0, longest).count) * jitter / 2)), drawn) } ?? drawn
  }
}
