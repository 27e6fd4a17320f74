public import AgentPorts
internal import Synchronization

/// A rollback anchor in memory, which outlives the processes that use it and their disk.
public final class SimulatedAnchor: RollbackAnchor {
  private let sequences = Mutex<[[UInt8]: UInt64]>([:])
  private let failure = Mutex<KeySourceFailure?>(nil)

  public init() {}

  public func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    try fail()
    return sequences.withLock { $0[databaseID] }
  }

  public func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) {
    try fail()
    sequences.withLock { $0[databaseID] = max($0[databaseID] ?? 0, sequence) }
  }

  private func fail() throws(KeySourceFailure) {
    if let failure = failure.withLock({ $0 }) { throw failure }
  }

  /// Makes every later call fail so, or, with nil, succeed.
  public func fail(_ failure: KeySourceFailure?) { self.failure.withLock { $0 = failure } }

  /// Replaces every count, also by a higher one.
  public func damage(_ count: UInt64) { sequences.withLock { $0 = $0.mapValues { _ in count } } }

  /// Empties the anchor, as on a machine that never saw the store.
  public func forget() { sequences.withLock { $0 = [:] } }
}
