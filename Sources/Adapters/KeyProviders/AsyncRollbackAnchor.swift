public import AgentPorts
internal import Synchronization

/// Writes to a slow anchor in the background, so that a commit does not wait: always the newest count, one write at a
/// time.
///
/// A count that is lost because the agent ends leaves the anchor behind the store. That is safe: a lower anchor raises
/// no false alarm.
public final class AsyncRollbackAnchor: RollbackAnchor {
  private let anchor: any RollbackAnchor
  private let start: @Sendable (@escaping @Sendable () -> Void) -> Void

  private struct State {
    var isBusy = false
    var newest: (databaseID: [UInt8], sequence: UInt64)?
    /// The count of each database, once it was read or told.
    var known: [[UInt8]: UInt64] = [:]
  }
  private let state = Mutex(State())

  /// - Parameter start: runs a piece of work that may block for some seconds, soon and on another thread.
  public init(_ anchor: any RollbackAnchor, start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.anchor = anchor
    self.start = start
  }

  /// Asks the slow anchor until it answers once, for the opening of a store. Later calls return the newest count that
  /// this process knows, so that no exchange waits.
  public func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    if let known = state.withLock({ $0.known[databaseID] }) { return known }
    let sequence = try anchor.sequence(databaseID: databaseID)
    if let sequence { state.withLock { $0.known[databaseID] = max($0.known[databaseID] ?? 0, sequence) } }
    return sequence
  }

  /// Always true, and never throws: the result of the write comes too late for the caller.
  @discardableResult
  public func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) -> Bool {
    let mustStart = state.withLock { state -> Bool in
      state.newest = (databaseID, sequence)
      state.known[databaseID] = max(state.known[databaseID] ?? 0, sequence)
      defer { state.isBusy = true }
      return !state.isBusy
    }
    if mustStart { start { [self] in tell() } }
    return true
  }

  private func tell() {
    while let next = next() { _ = try? anchor.advance(databaseID: next.databaseID, to: next.sequence) }
  }

  private func next() -> (databaseID: [UInt8], sequence: UInt64)? {
    state.withLock { state in
      defer { state.newest = nil }
      if state.newest == nil { state.isBusy = false }
      return state.newest
    }
  }
}
