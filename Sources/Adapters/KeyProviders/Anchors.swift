public import AgentPorts

/// Several anchors as one: the highest count wins, and anchors that cannot be read are skipped.
///
/// A damaged anchor counts as absent: an attacker who can damage it can also delete it.
public struct Anchors: RollbackAnchor {
  private let anchors: [any RollbackAnchor]

  public init(_ anchors: [any RollbackAnchor]) { self.anchors = anchors }

  /// Throws only if no anchor can be read.
  public func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    var highest: UInt64?
    try forEach { (anchor) throws(KeySourceFailure) in
      guard let sequence = try anchor.sequence(databaseID: databaseID) else { return }
      highest = max(highest ?? 0, sequence)
    }
    return highest
  }

  /// False if one anchor knows this sequence or a higher one. Throws only if no anchor could be written.
  @discardableResult
  public func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) -> Bool {
    var isNew = true
    try forEach { (anchor) throws(KeySourceFailure) in
      if try !anchor.advance(databaseID: databaseID, to: sequence) { isNew = false }
    }
    return isNew
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
