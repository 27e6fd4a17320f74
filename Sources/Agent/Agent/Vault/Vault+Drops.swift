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

  /// For the store: a drop under a random name.
  func seal(_ dropped: PendingRecord, name: [UInt8]) -> SealedRecord {
    var row = SealedRecord(
      key: RecordKey(partition: .drops, kind: .drop, id: name), schema: Vault.dropSchema, keyEpoch: keyEpoch,
      generation: number, sealed: [])
    row.sealed = box.seal(dropped.record, additionalData: Vault.additionalData(ofDrop: row, in: databaseID))
    return row
  }
}

extension Vault {
  fileprivate static let dropSchema: UInt16 = 1

  /// Which box is the current one.
  func dropBoxNumber() throws(VaultFailure) -> UInt64 {
    guard let plain = try read(.vault, .dropBox) else { return 0 }
    guard let number = RecordCoding.read(plain, { $0["number"]?.integer }) else { throw .integrity }
    return UInt64(clamping: number)
  }

  func inboxWriter(ofBox number: UInt64) -> LockedInboxWriter {
    LockedInboxWriter(
      box: dropBoxKey(number).publicKey, number: number, keyEpoch: keys.epoch, databaseID: store.databaseID)
  }

  /// Everything that lies in a box, in no order that means something; nil for what was not dropped by this agent, or
  /// was dropped into another box.
  func drops(inBox number: UInt64) throws(VaultFailure) -> [(name: [UInt8], dropped: PendingRecord?)] {
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: .drops) }
    guard !rows.isEmpty else { return [] }
    let key = dropBoxKey(number)
    return rows.filter { $0.key.kind == .drop }.map { row in
      let plain = try? key.open(row.sealed, additionalData: Self.additionalData(ofDrop: row, in: store.databaseID))
      return (row.key.id, plain.flatMap { PendingRecord($0) })
    }
  }

  /// The transaction in which drops find their places: they go, and the next box is begun.
  func apply(_ changes: [VaultChange], emptying names: [[UInt8]], ofBox number: UInt64) throws(VaultFailure) {
    let next = RecordCoding.write { $0.member("number", Int64(clamping: number + 1)) }
    try apply(
      changes + [.put(.vault, .dropBox, next)],
      with: names.map { .delete(RecordKey(partition: .drops, kind: .drop, id: $0)) })
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
