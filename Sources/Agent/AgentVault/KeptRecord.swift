internal import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// A value under a PIN in a restored backup, as the other store sealed it (`KeptRecord`).
  package static let keptData = DeclaredKind(29, under: .token)
}

/// A record under an account's data key, as another store sealed it.
///
/// A backup must not unseal data under a PIN, and often can't, since the data key is under the PIN. So
/// the sealed rows travel as they are, with the name of the store that sealed them, and are taken over when the PIN is
/// given.
struct KeptRecord: Sendable {
  var databaseID: [UInt8]
  var record: SealedRecord

  /// The record with its origin in one plaintext, to be sealed once more under the account's own keys.
  var sealable: Secret {
    SecretJSON.write { writer in
      writer.member("database", Base64URL.encode(databaseID))
      writer.member("partition", Base64URL.encode(record.key.partition.bytes))
      writer.member("kind", Int64(record.key.kind.rawValue))
      writer.member("id", Base64URL.encode(record.key.id))
      writer.member("schema", Int64(record.schema))
      writer.member("keyEpoch", Int64(record.keyEpoch))
      writer.member("generation", Int64(bitPattern: record.generation))
      writer.member("sealed", Base64URL.encode(record.sealed))
    }
  }

  init(databaseID: [UInt8], record: SealedRecord) {
    self.databaseID = databaseID
    self.record = record
  }

  init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> KeptRecord? in
      func bytes(_ name: StaticString) -> [UInt8]? { node[name]?.string.flatMap { Base64URL.decode($0) } }
      guard let database = bytes("database"), let partition = bytes("partition").flatMap({ PartitionID(bytes: $0) }),
        let kind = node["kind"]?.integer.flatMap({ UInt16(exactly: $0) }), let id = bytes("id"),
        let schema = node["schema"]?.integer.flatMap({ UInt16(exactly: $0) }),
        let keyEpoch = node["keyEpoch"]?.integer.flatMap({ UInt32(exactly: $0) }),
        let generation = node["generation"]?.integer, let sealed = bytes("sealed")
      else { return nil }
      let key = RecordKey(partition: partition, kind: RecordKind(rawValue: kind), id: id)
      return KeptRecord(
        databaseID: database,
        record: SealedRecord(
          key: key, schema: schema, keyEpoch: keyEpoch, generation: UInt64(bitPattern: generation), sealed: sealed))
    }
    guard let read else { return nil }
    self = read
  }

  /// Unique within an incarnation.
  var id: [UInt8] { withUnsafeBytes(of: record.key.kind.rawValue.littleEndian) { Array($0) } + record.key.id }

  func open(by dataKey: SealingKey) throws(VaultFailure) -> Secret {
    do {
      return try dataKey.derive("record", RecordSeals.context(record.key.kind, record.key.partition))
        .open(record.sealed, additionalData: RecordSeals.additionalData(record, in: databaseID))
    } catch {
      throw .integrity
    }
  }
}

/// The records of one partition that another store sealed, or that a backup keeps as this one sealed them.
package struct KeptRecords {
  private let partition: PartitionID
  private let vault: Vault

  package init(of partition: PartitionID, in vault: Vault) { (self.partition, self.vault) = (partition, vault) }

  /// The records that a backup must contain for a partition whose data is under a PIN.
  package func all() throws(VaultFailure) -> [(id: [UInt8], plain: Secret)] {
    // Records of a restored account whose PIN was not entered since.
    var kept = try vault.readAll(partition, .keptData)
    for kind in vault.kinds.copied {
      for record in try vault.sealedRecords(partition, kind) {
        let row = KeptRecord(databaseID: vault.store.databaseID, record: record)
        kept.append((row.id, row.sealable))
      }
    }
    return kept
  }

  /// The PIN was entered: seals the kept records again in this store, under the recovered data key.
  package func takingOver(by dataKey: SealingKey) throws(VaultFailure) -> [VaultChange] {
    let places = try vault.places()
    var changes: [VaultChange] = []
    for (id, plain) in try vault.readAll(partition, .keptData) {
      guard let kept = KeptRecord(plain) else { throw .integrity }
      let opened = try kept.open(by: dataKey)
      changes.append(.delete(partition, .keptData, id: id))
      let kind = vault.kinds[kept.record.key.kind]
      changes.append(.put(partition, kind, id: try places.id(of: kind, copying: opened), opened))
    }
    return changes
  }
}
