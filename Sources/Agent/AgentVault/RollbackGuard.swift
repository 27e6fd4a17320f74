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
  /// Another copy of the store has used a count of this one: this one is the old copy from then on.
  package private(set) var isOvertaken = false

  package init(_ anchor: (any RollbackAnchor)? = nil) { self.anchor = anchor }

  package var isThere: Bool { anchor != nil }

  /// What the anchor says of a database.
  package enum Knowledge {
    /// It holds no count for this database, or can't be asked.
    case none
    /// The highest count that it received.
    case count(UInt64)
    /// It holds something that is no count, and no other anchor tells one.
    case damaged
  }

  package func knowledge(of databaseID: [UInt8]) -> Knowledge {
    do throws(KeySourceFailure) {
      return try anchor?.sequence(databaseID: databaseID).map { .count($0) } ?? .none
    } catch {
      return error == .damaged ? .damaged : .none
    }
  }

  /// False if another copy of the store went on from where this one, at `sequence`, is. True if the anchor can't be
  /// asked: it is a witness, not a key.
  package func isNewest(_ databaseID: [UInt8], at sequence: UInt64) -> Bool {
    if case .count(let anchored) = knowledge(of: databaseID), sequence < anchored { isOvertaken = true }
    return !isOvertaken
  }

  package func advance(_ databaseID: [UInt8], to sequence: UInt64) {
    guard let anchor else { return }
    do {
      if try !anchor.advance(databaseID: databaseID, to: sequence) { isOvertaken = true }
      isBehind = false
    } catch {
      isBehind = true
    }
  }
}
