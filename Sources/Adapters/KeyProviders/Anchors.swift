public import AgentPorts

/// Several anchors as one: the highest witness counts, and one that can't be asked is left out.
///
/// A damaged anchor counts no more than a deleted one, since whoever can do the one can do the other.
public struct Anchors: RollbackAnchor {
  private let anchors: [any RollbackAnchor]

  public init(_ anchors: [any RollbackAnchor]) { self.anchors = anchors }

  /// Throws only if none of them can be asked.
  public func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    var highest: UInt64?
    try forEach { (anchor) throws(KeySourceFailure) in
      guard let sequence = try anchor.sequence(databaseID: databaseID) else { return }
      highest = max(highest ?? 0, sequence)
    }
    return highest
  }

  /// Throws only if none of them took it.
  public func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) {
    try forEach { (anchor) throws(KeySourceFailure) in try anchor.advance(databaseID: databaseID, to: sequence) }
  }

  private func forEach(_ body: (any RollbackAnchor) throws(KeySourceFailure) -> Void) throws(KeySourceFailure) {
    var first: KeySourceFailure?
    var succeeded = 0
    for anchor in anchors {
      do throws(KeySourceFailure) {
        try body(anchor)
        succeeded += 1
      } catch {
        first = first ?? error
      }
    }
    if succeeded == 0 { throw first ?? .unavailable }
  }
}
