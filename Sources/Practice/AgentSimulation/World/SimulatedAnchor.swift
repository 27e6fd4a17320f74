public import AgentPorts
internal import Synchronization

/// A rollback anchor in memory, which outlives the processes that use it and their disk.
public final class SimulatedAnchor: RollbackAnchor {
  private let sequences = Mutex<[[UInt8]: UInt64]>([:])
  private let failure = Mutex<KeySourceFailure?>(nil)
  private let overtakesAfterRead = Mutex(false)

  public init() {}

  public func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    try fail()
    let sequence = sequences.withLock { $0[databaseID] }
    let isOvertaken = overtakesAfterRead.withLock { overtakes in
      defer { overtakes = false }
      return overtakes
    }
    if isOvertaken { overtake() }
    return sequence
  }

  @discardableResult
  public func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) -> Bool {
    try fail()
    return sequences.withLock { sequences in
      guard sequences[databaseID].map({ $0 < sequence }) ?? true else { return false }
      sequences[databaseID] = sequence
      return true
    }
  }

  /// Another copy of the store takes the next count.
  public func overtake() { sequences.withLock { $0 = $0.mapValues { $0 + 1 } } }

  /// The same, just after this copy's agent has asked for the count.
  public func overtakeAfterRead() { overtakesAfterRead.withLock { $0 = true } }

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
