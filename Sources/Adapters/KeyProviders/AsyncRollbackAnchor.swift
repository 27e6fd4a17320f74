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
  }
  private let state = Mutex(State())

  /// - Parameter start: runs a piece of work that may block for some seconds, soon and on another thread.
  public init(_ anchor: any RollbackAnchor, start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.anchor = anchor
    self.start = start
  }

  public func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    try anchor.sequence(databaseID: databaseID)
  }

  /// Never throws: the result of the write comes too late for the caller.
  public func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) {
    let mustStart = state.withLock { state -> Bool in
      state.newest = (databaseID, sequence)
      defer { state.isBusy = true }
      return !state.isBusy
    }
    if mustStart { start { [self] in tell() } }
  }

  private func tell() {
    while let next = next() { try? anchor.advance(databaseID: next.databaseID, to: next.sequence) }
  }

  private func next() -> (databaseID: [UInt8], sequence: UInt64)? {
    state.withLock { state in
      defer { state.newest = nil }
      if state.newest == nil { state.isBusy = false }
      return state.newest
    }
  }
}
