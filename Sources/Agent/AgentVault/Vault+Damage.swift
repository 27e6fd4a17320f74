internal import AgentPorts
package import Secrets

extension VaultHead {
  /// The records that differ from this head: missing or changed ones that it names, and records that it does not name.
  func strays(among rows: [SealedRecord]) -> Set<Entry> {
    var missing = generations
    var strays: Set<Entry> = []
    for row in rows where row.key.kind != DeclaredKind.head.number || !row.key.id.isEmpty {
      let entry = Entry(kind: row.key.kind, id: row.key.id)
      // Also the second of two: the index that forbids it may be gone.
      if missing.removeValue(forKey: entry) != row.generation { strays.insert(entry) }
    }
    return strays.union(missing.keys)
  }
}

extension Vault {
  /// Each record of a kind that answers for itself; nil for one that does not open, or is not as the head says.
  package func readEach(_ kind: DeclaredKind) throws(VaultFailure) -> [(id: [UInt8], plain: Secret?)] {
    let ids = try namedRecords(of: kind, in: .vault)
    var found: [(id: [UInt8], plain: Secret?)] = []
    for id in ids {
      do throws(VaultFailure) {
        found.append((id, try read(.vault, kind, id: id)))
      } catch {
        guard error == .integrity else { throw error }
        found.append((id, nil))
      }
    }
    return found
  }

  /// Opens all of the vault's own records, so that damage is reported before the vault is used.
  package func checkOwnRecords() throws(VaultFailure) {
    for kind in try ownKinds() where !kind.answersForItself { _ = try readAll(.vault, kind) }
  }
}
