package import AgentPorts

/// Tells the anchor outside the store how far the store has come, and asks it at the start.
///
/// `Vault` updates the anchor after the commit: a crash in between leaves a store that is ahead of its anchor, which is
/// no old copy. An anchor that can't be written stops nothing; `agent.diagnose` reports it.
package final class RollbackGuard {
  /// No store reaches this count: an anchor above it is damaged, and counting on from it could overflow.
  package static let highestSequence: UInt64 = 1 << 62

  private let anchor: (any RollbackAnchor)?
  /// The anchor did not take the last count.
  package private(set) var isBehind = false

  package init(_ anchor: (any RollbackAnchor)? = nil) { self.anchor = anchor }

  package var isThere: Bool { anchor != nil }

  /// The highest count that the anchor received; nil if it holds none for this database, or can't be read.
  package func sequence(of databaseID: [UInt8]) -> UInt64? { try? anchor?.sequence(databaseID: databaseID) }

  package func advance(_ databaseID: [UInt8], to sequence: UInt64) {
    guard let anchor else { return }
    do {
      try anchor.advance(databaseID: databaseID, to: sequence)
      isBehind = false
    } catch {
      isBehind = true
    }
  }
}
