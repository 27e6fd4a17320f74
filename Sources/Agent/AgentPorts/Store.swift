/// Durable, sealed records. The store knows keys and order, and nothing of what it keeps: every record comes sealed.
///
/// Calls are synchronous and made by the one actor that owns the store. A batch is applied whole or not at all, and
/// is on the disk when `commit` returns.
public protocol Store: AnyObject {
  /// A random id of this database, part of every record's additional data.
  var databaseID: [UInt8] { get }
  func metadata(_ name: String) throws(StoreFailure) -> [UInt8]?
  /// Entries of the audit log after a number, in order, at most so many.
  func auditRows(after sequence: Int64, limit: Int) throws(StoreFailure) -> [AuditRow]
  func keySlots() throws(StoreFailure) -> [KeySlotRow]
  func record(_ key: RecordKey) throws(StoreFailure) -> SealedRecord?
  /// In the order of kind, then id.
  func records(in partition: PartitionID) throws(StoreFailure) -> [SealedRecord]
  func records(in partition: PartitionID, kind: RecordKind) throws(StoreFailure) -> [SealedRecord]
  /// The records of one kind in all partitions: one pass over an index, for the start of the agent.
  func records(kind: RecordKind) throws(StoreFailure) -> [SealedRecord]
  /// Calls `body` with every record of this kind, in no particular order: the one pass at the agent's start, which
  /// must not hold all of them at once. `body` must not call the store.
  func forEachRecord(of kind: RecordKind, _ body: (SealedRecord) -> Void) throws(StoreFailure)
  /// Every partition that has a record, in order.
  func partitions() throws(StoreFailure) -> [PartitionID]
  /// After `inputOutput` the batch is on the disk whole or not at all, and only the next start tells which; after any
  /// other failure it is not there.
  func commit(_ batch: [StoreWrite]) throws(StoreFailure)
  /// Asked before a token is spent: can the next commit of about this size be written?
  func checkWritable(bytes: Int) throws(StoreFailure)
  /// After an erasure: moves the WAL into the file and truncates it. False if an open reader prevents it.
  func truncateLog() throws(StoreFailure) -> Bool
  /// The database's own check of itself; empty if it is sound.
  func integrityProblems() throws(StoreFailure) -> [String]
  /// Copies everything, as it is at this moment, into a new store at `path`, where nothing is yet; a copy that failed
  /// half way is left for the caller to remove.
  func snapshot(to path: String) throws(StoreFailure)
  func close()
}

extension Store {
  public func forEachRecord(of kind: RecordKind, _ body: (SealedRecord) -> Void) throws(StoreFailure) {
    for record in try records(kind: kind) { body(record) }
  }
}

public enum StoreFailure: Error, Sendable, Equatable {
  case full, readOnly, inputOutput, corrupt, busy, closed
  /// The file or its directory belongs to another user, is open to others, or is a symlink.
  case unsafePermissions
  /// Written by a later version of the agent.
  case newerSchema(found: Int, known: Int)
}

/// A group of records that is encrypted under keys of its own: the vault itself, or one incarnation of an account.
public struct PartitionID: Hashable, Comparable, Sendable {
  public static let byteCount = 16
  /// What belongs to no account: providers, the directory of accounts, settings.
  public static let vault = PartitionID(bytes: [UInt8](repeating: 0, count: byteCount))!

  public let bytes: [UInt8]

  public init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  public static func < (a: PartitionID, b: PartitionID) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }
}

/// What a record is about. Numbers are part of the sealed format and are never used again for something else.
public struct RecordKind: RawRepresentable, Hashable, Comparable, Sendable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }
  public static func < (a: RecordKind, b: RecordKind) -> Bool { a.rawValue < b.rawValue }
}

public struct RecordKey: Hashable, Sendable {
  public var partition: PartitionID
  public var kind: RecordKind
  public var id: [UInt8]

  public init(partition: PartitionID, kind: RecordKind, id: [UInt8] = []) {
    self.partition = partition
    self.kind = kind
    self.id = id
  }
}

public struct SealedRecord: Sendable, Equatable {
  public var key: RecordKey
  /// Version of the plain text's layout.
  public var schema: UInt16
  /// Which root key sealed it.
  public var keyEpoch: UInt32
  /// Counts the writes of this record; the partition's head remembers it.
  public var generation: UInt64
  public var sealed: [UInt8]

  public init(key: RecordKey, schema: UInt16, keyEpoch: UInt32, generation: UInt64, sealed: [UInt8]) {
    self.key = key
    self.schema = schema
    self.keyEpoch = keyEpoch
    self.generation = generation
    self.sealed = sealed
  }
}

/// A way to the root key: the root key wrapped by a key that somebody holds, and how that key is made.
public struct KeySlotRow: Sendable, Equatable {
  public var number: Int
  /// `keyFile`, `passphrase`, …
  public var protection: String
  /// Salt and costs, in a layout of the protection's own.
  public var parameters: [UInt8]
  /// Told before the unwrapping, so that a wrong key and a damaged slot are two things.
  public var commitment: [UInt8]
  public var keyEpoch: UInt32
  public var wrappedRootKey: [UInt8]

  public init(
    number: Int, protection: String, parameters: [UInt8], commitment: [UInt8], keyEpoch: UInt32,
    wrappedRootKey: [UInt8]
  ) {
    self.number = number
    self.protection = protection
    self.parameters = parameters
    self.commitment = commitment
    self.keyEpoch = keyEpoch
    self.wrappedRootKey = wrappedRootKey
  }
}

public enum StoreWrite: Sendable, Equatable {
  case put(SealedRecord)
  case delete(RecordKey)
  case deletePartition(PartitionID)
  case putMetadata(name: String, value: [UInt8])
  case deleteMetadata(name: String)
  case putKeySlot(KeySlotRow)
  case deleteKeySlot(number: Int)
  /// In the place of whatever stands there: past its end the log has only what somebody else wrote, and that must not
  /// stop the agent's own work.
  case appendAudit(AuditRow)
  case deleteAudit(through: Int64)
}
