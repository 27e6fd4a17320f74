internal import AgentPorts
internal import Secrets

/// Selects the key of each record, and binds the seal to the record's place.
///
/// Account and incarnation are the partition: it is random for each incarnation of an account.
struct RecordSeals {
  private static let schema: UInt16 = 1

  let databaseID: [UInt8]
  /// The keys that seal new records.
  let keys: VaultKeys
  /// The keys of partitions that a rotation of the root key has not reached yet; nil without a rotation.
  let previousKeys: VaultKeys?

  /// Keys by epoch. A record sealed under an unknown epoch fails with `.integrity`.
  func keys(of epoch: UInt32) throws(VaultFailure) -> VaultKeys {
    if epoch == keys.epoch { return keys }
    guard let previousKeys, previousKeys.epoch == epoch else { throw .integrity }
    return previousKeys
  }

  /// The key of a record in a partition that is open.
  func key(
    of kind: DeclaredKind, in partition: PartitionID, _ opened: Vault.Partition
  ) throws(VaultFailure) -> SealingKey {
    let keys = try keys(of: opened.epoch)
    let context = Self.context(kind.number, partition)
    switch kind.keyClass {
    case .head: return keys.head.derive("head", partition.bytes)
    case .directory: return keys.directory.derive("record", context)
    case .vault: return keys.vault.derive("record", context)
    case .outbox: return keys.outbox.derive("record", context)
    // A partition without its own keys has no such records: a forged one does not open.
    case .token: return (opened.keys?.token ?? keys.directory).derive("record", context)
    case .data:
      guard let ofAccount = opened.keys else { return keys.directory.derive("record", context) }
      guard let data = ofAccount.data else { throw .dataLocked }
      return data.derive("record", context)
    }
  }

  func seal(_ plain: Secret, _ key: RecordKey, generation: UInt64, by sealing: SealingKey) -> SealedRecord {
    var record = SealedRecord(
      key: key, schema: Self.schema, keyEpoch: keys.epoch, generation: generation, sealed: [])
    record.sealed = sealing.seal(plain, additionalData: Self.additionalData(record, in: databaseID))
    return record
  }

  func seal(head: VaultHead, of partition: PartitionID) -> SealedRecord {
    seal(
      head.plain, RecordKey(partition: partition, kind: .head, id: []), generation: head.generation,
      by: keys.head.derive("head", partition.bytes))
  }

  func open(_ record: SealedRecord, by key: SealingKey) throws(VaultFailure) -> Secret {
    do {
      return try key.open(record.sealed, additionalData: Self.additionalData(record, in: databaseID))
    } catch {
      throw .integrity
    }
  }

  func open(head row: SealedRecord) throws(VaultFailure) -> Secret {
    try open(row, by: keys(of: row.keyEpoch).head.derive("head", row.key.partition.bytes))
  }

  /// A record under the directory key opens without its partition's keys.
  func open(directory row: SealedRecord) throws(VaultFailure) -> Secret {
    try open(
      row, by: keys(of: row.keyEpoch).directory.derive("record", Self.context(row.key.kind, row.key.partition)))
  }

  static func context(_ kind: RecordKind, _ partition: PartitionID) -> [UInt8] {
    partition.bytes + withUnsafeBytes(of: kind.rawValue.littleEndian) { Array($0) }
  }

  static func additionalData(_ record: SealedRecord, in databaseID: [UInt8]) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append("lanyard record 1")
    fields.append(databaseID)
    fields.append(record.key.partition.bytes)
    fields.append(UInt64(record.key.kind.rawValue))
    fields.append(record.key.id)
    fields.append(UInt64(record.schema))
    fields.append(UInt64(record.keyEpoch))
    fields.append(record.generation)
    return fields.bytes
  }
}
