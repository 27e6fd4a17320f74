public import AgentPorts

/// Several anchors as one: the highest count wins, and anchors that cannot be read are skipped where another one tells
/// a count.
public struct Anchors: RollbackAnchor {
  private let anchors: [any RollbackAnchor]

  public init(_ anchors: [any RollbackAnchor]) { self.anchors = anchors }

  /// Throws `.damaged` if an anchor is damaged and no other tells a count: an anchor file is written atomically, so
  /// that no crash damages one. Any other failure is thrown only if no anchor can be read.
  public func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    var highest: UInt64?
    var failures: [KeySourceFailure] = []
    for anchor in anchors {
      do throws(KeySourceFailure) {
        guard let sequence = try anchor.sequence(databaseID: databaseID) else { continue }
        highest = max(highest ?? 0, sequence)
      } catch {
        failures.append(error)
      }
    }
    if let highest { return highest }
    if failures.contains(.damaged) { throw .damaged }
    if failures.count == anchors.count { throw failures.first ?? .unavailable }
    return nil
  }

  /// False if one anchor knows this sequence or a higher one. Otherwise throws if an anchor that outlasts restarts could not
  /// be written, or none at all; the others have the sequence all the same.
  @discardableResult
  public func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) -> Bool {
    var isNew = true
    var first: KeySourceFailure?
    var lasting: KeySourceFailure?
    var succeeded = 0
    for anchor in anchors {
      do throws(KeySourceFailure) {
        if try !anchor.advance(databaseID: databaseID, to: sequence) { isNew = false }
        succeeded += 1
      } catch {
        first = first ?? error
        if anchor.outlastsRestarts { lasting = lasting ?? error }
      }
    }
    guard isNew else { return false }
    if let lasting { throw lasting }
    if succeeded == 0 { throw first ?? .unavailable }
    return true
  }

  /// Asks each anchor that outlasts restarts; without one, whether any holds it.
  public func holds(_ sequence: UInt64, databaseID: [UInt8]) -> Bool {
    let lasting = anchors.filter(\.outlastsRestarts)
    guard !lasting.isEmpty else { return anchors.contains { $0.holds(sequence, databaseID: databaseID) } }
    return lasting.allSatisfy { $0.holds(sequence, databaseID: databaseID) }
  }

  /// The prints of the highest epoch count: an anchor that was out of reach during a rotation does not outvote one that
  /// knows of it. Throws as `sequence` does.
  public func rootPrints(databaseID: [UInt8]) throws(KeySourceFailure) -> [RootPrint] {
    var newest: [RootPrint] = []
    var newestEpoch: UInt32 = 0
    var failures: [KeySourceFailure] = []
    for anchor in anchors {
      do throws(KeySourceFailure) {
        let prints = try anchor.rootPrints(databaseID: databaseID)
        let epoch = prints.map(\.epoch).max() ?? 0
        if epoch > newestEpoch {
          (newest, newestEpoch) = (prints, epoch)
        } else if epoch == newestEpoch {
          newest += prints.filter { !newest.contains($0) }
        }
      } catch {
        failures.append(error)
      }
    }
    if !newest.isEmpty { return newest }
    if failures.contains(.damaged) { throw .damaged }
    if failures.count == anchors.count { throw failures.first ?? .unavailable }
    return []
  }

  /// Throws if an anchor goes on naming other root keys: then a later opening would be refused. An anchor that names none
  /// or can't be read is left out.
  public func record(_ prints: [RootPrint], databaseID: [UInt8]) throws(KeySourceFailure) {
    var first: KeySourceFailure?
    for anchor in anchors {
      do throws(KeySourceFailure) {
        try anchor.record(prints, databaseID: databaseID)
      } catch {
        let others = (try? anchor.rootPrints(databaseID: databaseID)) ?? []
        if !others.isEmpty, others != prints { first = first ?? error }
      }
    }
    if let first { throw first }
  }

  /// The first that an anchor tells.
  public func databaseHere() throws(KeySourceFailure) -> [UInt8]? {
    for anchor in anchors { if let database = try anchor.databaseHere() { return database } }
    return nil
  }

  public func slotsChanged(to protections: Set<String>) {
    for anchor in anchors { anchor.slotsChanged(to: protections) }
  }
}
