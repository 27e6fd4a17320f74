internal import AgentPorts
internal import JSONRPC
internal import Secrets

/// What comes while the vault is locked (docs/storage.md, Locking): dropped through a slit that opens
/// nothing, found when the vault is opened.
///
/// Drops stand in a partition of their own, which has no head: nobody can write one while the vault is locked. What
/// keeps a drop of before from coming twice is the number of the box, which is in the vault's own head: each opening
/// that finds something goes on with the next box, and what was for the one before does not open any more.
extension PartitionID {
  static let drops = PartitionID(bytes: Array("lanyard drops 01".utf8))!
}

/// All that is left of the vault while it is locked.
struct LockedInboxWriter: Sendable {
  let box: InboxPublicKey
  let number: UInt64
  let keyEpoch: UInt32
  let databaseID: [UInt8]

  /// A row for the store, under a random name.
  func seal(_ plain: Secret, name: [UInt8]) -> SealedRecord {
    var row = SealedRecord(
      key: RecordKey(partition: .drops, kind: .drop, id: name), schema: Vault.dropSchema, keyEpoch: keyEpoch,
      generation: number, sealed: [])
    row.sealed = box.seal(plain, additionalData: Vault.additionalData(ofDrop: row, in: databaseID))
    return row
  }
}

extension Vault {
  fileprivate static let dropSchema: UInt16 = 1

  /// Which box is the current one.
  func inboxNumber() throws(VaultFailure) -> UInt64 {
    guard let plain = try read(.vault, .dropBox) else { return 0 }
    guard let number = RecordCoding.read(plain, { $0["number"]?.integer }) else { throw .integrity }
    return UInt64(clamping: number)
  }

  func inboxWriter(ofInbox number: UInt64) -> LockedInboxWriter {
    LockedInboxWriter(box: dropBoxKey(number).publicKey, number: number, keyEpoch: keys.epoch, databaseID: store.databaseID)
  }

  /// Everything that lies in an inbox, in no order that means something; nil for what was not left by this agent, or
  /// was left in another inbox.
  func pendingRecords(inInbox number: UInt64) throws(VaultFailure) -> [(name: [UInt8], plain: Secret?)] {
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: .drops) }
    guard !rows.isEmpty else { return [] }
    let key = dropBoxKey(number)
    return rows.filter { $0.key.kind == .drop }.map { row in
      (row.key.id, try? key.open(row.sealed, additionalData: Self.additionalData(ofDrop: row, in: store.databaseID)))
    }
  }

  /// The transaction in which pending records find their places begins the next inbox and removes them.
  static func nextInbox(after number: UInt64) -> VaultChange {
    .put(.vault, .dropBox, RecordCoding.write { $0.member("number", Int64(clamping: number + 1)) })
  }

  static func emptying(_ name: [UInt8]) -> StoreWrite {
    .delete(RecordKey(partition: .drops, kind: .drop, id: name))
  }

  private func dropBoxKey(_ number: UInt64) -> InboxKey {
    InboxKey(keys.drops.derive("box", withUnsafeBytes(of: number.littleEndian) { Array($0) }))
  }

  fileprivate static func additionalData(ofDrop row: SealedRecord, in databaseID: [UInt8]) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append(Array("lanyard drop 1".utf8))
    fields.append(databaseID)
    fields.append(row.key.id)
    fields.append(UInt64(row.schema))
    fields.append(UInt64(row.keyEpoch))
    fields.append(row.generation)
    return fields.bytes
  }
}
