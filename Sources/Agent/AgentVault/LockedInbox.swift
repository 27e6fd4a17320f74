package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// The inbox of the locked vault, in a partition of its own, and the number of the current one.
  static let drop = DeclaredKind(28, under: .token)
  static let dropBox = DeclaredKind(32, under: .vault, .counted)
}

extension PartitionID {
  package static let drops = PartitionID(bytes: Array("lanyard drops 01".utf8))!
}

/// Seals records that arrive while the vault is locked; it can't open them.
package struct LockedInboxWriter: Sendable {
  package let box: InboxPublicKey
  package let number: UInt64
  package let keyEpoch: UInt32
  package let databaseID: [UInt8]

  /// A row for the store, under a random name.
  package func seal(_ plain: Secret, name: [UInt8]) -> SealedRecord {
    var row = SealedRecord(
      key: RecordKey(partition: .drops, kind: .drop, id: name), schema: LockedInbox.schema, keyEpoch: keyEpoch,
      generation: number, sealed: [])
    row.sealed = box.seal(plain, additionalData: LockedInbox.additionalData(of: row, in: databaseID))
    return row
  }
}

extension Vault {
  package var inbox: LockedInbox { LockedInbox(vault: self) }
}

/// The records that arrived while the vault was locked (docs/storage.md, Locking): sealed by a `LockedInboxWriter`,
/// read when the vault is opened.
///
/// Its rows are in a partition without a head: none can be written while the vault is locked. The number of the inbox,
/// which is in the vault's own head, keeps an old row from coming twice: each opening that finds records goes on with
/// the next inbox, and records for the one before do not open any more.
package struct LockedInbox {
  package let vault: Vault

  fileprivate static let schema: UInt16 = 1

  /// The number of the current inbox.
  package func number() throws(VaultFailure) -> UInt64 {
    guard let plain = try vault.read(.vault, .dropBox) else { return 0 }
    guard let number = SecretJSON.read(plain, { $0["number"]?.integer }) else { throw .integrity }
    return UInt64(clamping: number)
  }

  package func writer(of number: UInt64) -> LockedInboxWriter {
    LockedInboxWriter(
      box: key(of: number).publicKey, number: number, keyEpoch: vault.keys.epoch, databaseID: vault.store.databaseID)
  }

  /// The records of an inbox in no particular order; nil for one that another program wrote, or that belongs to another
  /// inbox.
  package func records(in number: UInt64) throws(VaultFailure) -> [(name: [UInt8], plain: Secret?)] {
    let rows = try vault.onStore { () throws(StoreFailure) in try vault.store.records(in: .drops) }
    guard !rows.isEmpty else { return [] }
    let key = key(of: number)
    return rows.filter { $0.key.kind == DeclaredKind.drop.number }.map { row in
      (row.key.id, try? key.open(row.sealed, additionalData: Self.additionalData(of: row, in: vault.store.databaseID)))
    }
  }

  /// The change that begins the next inbox, in the transaction that applies and removes the pending records.
  package static func beginning(after number: UInt64) -> VaultChange {
    .put(.vault, .dropBox, SecretJSON.write { $0.member("number", Int64(clamping: number + 1)) })
  }

  package static func emptying(_ name: [UInt8]) -> StoreWrite {
    .delete(RecordKey(partition: .drops, kind: .drop, id: name))
  }

  private func key(of number: UInt64) -> InboxKey {
    InboxKey(vault.keys.drops.derive("box", withUnsafeBytes(of: number.littleEndian) { Array($0) }))
  }

  fileprivate static func additionalData(of row: SealedRecord, in databaseID: [UInt8]) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append("lanyard drop 1")
    fields.append(databaseID)
    fields.append(row.key.id)
    fields.append(UInt64(row.schema))
    fields.append(UInt64(row.keyEpoch))
    fields.append(row.generation)
    return fields.bytes
  }
}
