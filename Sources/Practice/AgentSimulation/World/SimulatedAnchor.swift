public import AgentPorts
internal import Synchronization

/// A rollback anchor in memory, which outlives the processes that use it and their disk.
public final class SimulatedAnchor: RollbackAnchor {
  private let sequences = Mutex<[[UInt8]: UInt64]>([:])
  private let prints = Mutex<[[UInt8]: [RootPrint]]>([:])
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

  public func rootPrints(databaseID: [UInt8]) throws(KeySourceFailure) -> [RootPrint] {
    try fail()
    return prints.withLock { $0[databaseID] ?? [] }
  }

  public func record(_ prints: [RootPrint], databaseID: [UInt8]) throws(KeySourceFailure) {
    try fail()
    self.prints.withLock { $0[databaseID] = prints }
  }

  /// What the anchor holds: a test keeps it and puts it back.
  public struct Content: Sendable {
    fileprivate var sequences: [[UInt8]: UInt64]
    fileprivate var prints: [[UInt8]: [RootPrint]]

    public func hasSameRoots(as other: Content) -> Bool { prints == other.prints }

    /// The number of root keys that databases may have.
    public var rootCount: Int { prints.values.reduce(0) { $0 + $1.count } }
  }

  public var content: Content {
    Content(sequences: sequences.withLock { $0 }, prints: prints.withLock { $0 })
  }

  public func restore(_ content: Content) {
    sequences.withLock { $0 = content.sequences }
    prints.withLock { $0 = content.prints }
  }

  /// Forgets the root keys, and not the counts.
  public func forgetRoots() { prints.withLock { $0 = [:] } }

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
  public func forget() {
    sequences.withLock { $0 = [:] }
    forgetRoots()
  }
}
