package import AgentPorts

/// Tells the anchor outside the store how far the store has come, and asks it at the start.
///
/// `Vault` updates the anchor after the commit: a crash in between leaves a store that is ahead of its anchor, which is
/// no old copy. An anchor that can't be written stops nothing; `agent.diagnose` reports it.
package final class RollbackGuard {
  /// No store reaches this count: an anchor above it is damaged, and counting on from it could overflow.
  package static let highestSequence: UInt64 = 1 << 62

  private let anchor: (any RollbackAnchor)?
  private let fellBehind: @Sendable () -> Void
  /// The anchor did not take the last count, or goes on naming another root key.
  package var isBehind: Bool { missedCount || owedRoots != nil }
  private var missedCount = false {
    didSet { if missedCount, !oldValue { fellBehind() } }
  }
  /// The root keys that the anchor was last told.
  private var roots: [RootPrint] = []
  /// Root keys that an anchor did not take; told again with the next count.
  private var owedRoots: [RootPrint]?
  /// Another copy of the store has used a count of this one: this one is the old copy from then on.
  package private(set) var isOvertaken = false

  /// - Parameter fellBehind: called when the anchor does not take a count after one that it took.
  package init(_ anchor: (any RollbackAnchor)? = nil, fellBehind: @escaping @Sendable () -> Void = {}) {
    self.anchor = anchor
    self.fellBehind = fellBehind
  }

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
  /// asked: it only confirms, and opens nothing.
  package func isNewest(_ databaseID: [UInt8], at sequence: UInt64) -> Bool {
    if case .count(let anchored) = knowledge(of: databaseID), sequence < anchored { isOvertaken = true }
    return !isOvertaken
  }

  package func advance(_ databaseID: [UInt8], to sequence: UInt64) {
    guard let anchor else { return }
    do {
      if try !anchor.advance(databaseID: databaseID, to: sequence) { isOvertaken = true }
      missedCount = false
    } catch {
      missedCount = true
    }
    if let owed = owedRoots { recordRoots(owed, databaseID) }
  }

  /// At an opening of the newest copy, at `sequence`: tells an anchor that missed counts, as one that could not be written.
  package func catchUp(_ databaseID: [UInt8], to sequence: UInt64) {
    guard let anchor, !isOvertaken, !anchor.holds(sequence, databaseID: databaseID) else { return }
    // The answer does not matter: it is false where another anchor has this count, which is this store's own.
    _ = try? anchor.advance(databaseID: databaseID, to: sequence)
    missedCount = !anchor.holds(sequence, databaseID: databaseID)
  }

  // MARK: the state directory

  /// False if the anchor knows another database in the state directory. True if it knows none, or can't be asked.
  package func expectsHere(_ databaseID: [UInt8]) -> Bool {
    guard let here = try? anchor?.databaseHere() else { return true }
    return here == databaseID
  }

  /// True if the database held a vault: the anchor has, or had, a count of it.
  package func knows(_ databaseID: [UInt8]) -> Bool {
    if case .none = knowledge(of: databaseID) { false } else { true }
  }

  // MARK: root keys

  /// What the anchor says of a root key.
  package enum RootKnowledge {
    /// It is the one that the anchor knows, or the anchor knows none, or can't be asked.
    case expected
    /// The anchor knows another one: this one was rotated away, or never belonged to the database.
    case another
    /// It holds something that is no print, and no other anchor tells one.
    case damaged
  }

  package func knowledge(of keys: VaultKeys, _ databaseID: [UInt8]) -> RootKnowledge {
    do throws(KeySourceFailure) {
      let prints = try anchor?.rootPrints(databaseID: databaseID) ?? []
      return prints.isEmpty || prints.contains(keys.print(of: databaseID)) ? .expected : .another
    } catch {
      return error == .damaged ? .damaged : .expected
    }
  }

  /// Before a rotation is committed: the anchor accepts both root keys, so that a death at any moment leaves a store that
  /// opens. False if an anchor goes on naming only the old one: then the rotation must not take place.
  package func expect(_ next: VaultKeys, after current: VaultKeys, _ databaseID: [UInt8]) -> Bool {
    guard let anchor, !isOvertaken else { return true }
    let prints = [current.print(of: databaseID), next.print(of: databaseID)]
    do throws(KeySourceFailure) {
      try anchor.record(prints, databaseID: databaseID)
    } catch {
      return false
    }
    roots = prints
    return true
  }

  /// The database has this root key and no other.
  package func settle(_ keys: VaultKeys, _ databaseID: [UInt8]) {
    guard !isOvertaken else { return }
    recordRoots([keys.print(of: databaseID)], databaseID)
  }

  /// The slots of the vault changed: an anchor that takes part from now on learns the root key.
  package func slotsChanged(to protections: Set<String>, _ databaseID: [UInt8]) {
    anchor?.slotsChanged(to: protections)
    if !isOvertaken, !roots.isEmpty { recordRoots(roots, databaseID) }
  }

  private func recordRoots(_ prints: [RootPrint], _ databaseID: [UInt8]) {
    guard let anchor else { return }
    roots = prints
    do throws(KeySourceFailure) {
      try anchor.record(prints, databaseID: databaseID)
      owedRoots = nil
    } catch {
      owedRoots = prints
    }
  }
}

extension StoreWrite {
  var changesKeySlots: Bool {
    switch self {
    case .putKeySlot, .deleteKeySlot: true
    default: false
    }
  }
}
