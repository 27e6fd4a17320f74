public import AgentModel

/// A durable store of encrypted records. It knows their keys and order and never their content.
///
/// Calls are synchronous and come from the one actor that owns the store. `commit` applies a batch as one transaction
/// and returns when the batch is durable, or as durable as its caller asks.
///
/// - Throws: every method throws `StoreFailure`.
public protocol Store: AnyObject {
  /// A random id of this database, part of the additional data of every record.
  var databaseID: [UInt8] { get }
  /// Reads a metadata value; nil if the name is not set.
  func metadata(_ name: String) throws(StoreFailure) -> [UInt8]?
  /// At most `limit` entries of the audit log after `sequence`, of both rings in the order of their numbers.
  func auditRows(after sequence: Int64, limit: Int) throws(StoreFailure) -> [AuditRow]
  /// All key slots, ordered by number.
  func keySlots() throws(StoreFailure) -> [KeySlotRow]
  /// Reads a record; nil if the key is not set.
  func record(_ key: RecordKey) throws(StoreFailure) -> SealedRecord?
  /// All records of a partition, ordered by kind, then id.
  func records(in partition: PartitionID) throws(StoreFailure) -> [SealedRecord]
  /// The records of one kind in a partition, ordered by id.
  func records(in partition: PartitionID, kind: RecordKind) throws(StoreFailure) -> [SealedRecord]
  /// The records of one kind in all partitions, from one pass over an index.
  func records(kind: RecordKind) throws(StoreFailure) -> [SealedRecord]
  /// Calls `body` with every record of this kind, in no particular order and without holding all of them in memory, for
  /// the agent's start. `body` must not call the store.
  func forEachRecord(of kind: RecordKind, _ body: (SealedRecord) -> Void) throws(StoreFailure)
  /// The partitions that have a record, in order.
  func partitions() throws(StoreFailure) -> [PartitionID]
  /// Applies a batch in one transaction.
  ///
  /// - Throws: `StoreFailure`. After `inputOutput` the batch may be durable or absent as a whole, which shows at the
  ///   next start; after any other failure it is absent.
  func commit(_ batch: [StoreWrite], _ durability: StoreDurability, _ room: StoreRoom) throws(StoreFailure)
  /// Checks whether a commit of about `bytes` can succeed, before a refresh token is sent.
  ///
  /// - Throws: the failure that the commit would meet.
  func checkWritable(bytes: Int) throws(StoreFailure)
  /// Checks that the open files are still those at the store's path.
  ///
  /// - Throws: `missing` if they were removed or replaced under the running agent.
  func checkInPlace() throws(StoreFailure)
  /// Moves what the log holds into the database file, so that the loss of the log alone takes none of it. A reader or a
  /// failing disk may leave it in the log.
  func checkpoint()
  /// Removes every byte that deleted records left in the files; false if another process prevents it, for example an open
  /// reader.
  func eraseDeleted() throws(StoreFailure) -> Bool
  /// Runs SQLite's integrity check; empty if the database is sound.
  func integrityProblems() throws(StoreFailure) -> [String]
  /// Copies the whole store as of now into a new file at `path`. If the copy fails, the caller removes the partial
  /// file.
  func snapshot(to path: String) throws(StoreFailure)
  /// Keeps counts beside the store, from any thread; nil if the store has no such place.
  var repeatJournal: (any RepeatJournal)? { get }
  /// Closes the store; later calls throw `closed`.
  func close()
}

extension Store {
  /// Applies a batch in one durable transaction.
  public func commit(_ batch: [StoreWrite]) throws(StoreFailure) { try commit(batch, .disk, .reserve) }

  public func commit(_ batch: [StoreWrite], _ durability: StoreDurability) throws(StoreFailure) {
    try commit(batch, durability, .reserve)
  }

  public func checkInPlace() throws(StoreFailure) {}

  public var repeatJournal: (any RepeatJournal)? { nil }

  public func forEachRecord(of kind: RecordKind, _ body: (SealedRecord) -> Void) throws(StoreFailure) {
    for record in try records(kind: kind) { body(record) }
  }
}

/// The space of the disk that a batch may take.
public enum StoreRoom: Sendable, Hashable {
  /// On a full disk also what the store has reserved: so that a token is kept, and an account signed out.
  case reserve
  /// Only what is free: the batch is refused on a full disk, and the reserve stays.
  case free
}

/// What a committed batch survives.
public enum StoreDurability: Sendable, Hashable {
  /// A power cut: the batch is synced, and with it every earlier one.
  case disk
  /// The death of the process: the batch is written to the kernel. A power cut may take it, and never an earlier batch
  /// or a later one that was synced.
  case kernel
}

/// Why the store refused an operation.
public enum StoreFailure: Error, Sendable, Equatable {
  /// The disk or the user's quota is full. Nothing was written.
  case full
  /// The file system or the file is read-only. Nothing was written.
  case readOnly
  /// The device failed to read or write. A batch may be durable or absent.
  case inputOutput
  /// The file is no SQLite database, its pages are damaged, or its schema is not the expected one.
  case corrupt
  /// Another process holds the database's lock.
  case busy
  /// The store was closed, or was never opened.
  case closed
  /// The file or its directory belongs to another user, or is accessible to others, or the directory is a symlink.
  case unsafePermissions
  /// A symlink stands in the place of the file with this name: nothing is known of where it leads, and it is not followed.
  case link(String)
  /// Something that is no file, such as a directory or a pipe, stands in the place of the file with this name.
  case noFile(String)
  /// The file with this name has a second name, a hard link: a program could read or replace it by that one.
  case hardLinked(String)
  /// The database that belongs here is gone: its file was deleted, emptied or replaced. Nothing was written.
  case missing
  /// A later version of the agent wrote the file: it has schema `found`, this program supports up to `known`.
  case newerSchema(found: Int, known: Int)

  /// True if the file itself prevents its use, and not the disk, its rights or another program: another copy helps, and
  /// waiting does not.
  public var isOfTheFile: Bool {
    switch self {
    case .corrupt, .missing, .newerSchema: true
    case .full, .readOnly, .inputOutput, .busy, .closed, .unsafePermissions, .link, .noFile, .hardLinked: false
    }
  }
}

/// A group of records with encryption keys of its own: the vault, or one incarnation of an account.
public struct PartitionID: Hashable, Comparable, Sendable {
  /// Length of an id in bytes.
  public static let byteCount = 16
  /// Records of no account: providers, the account directory, settings.
  public static let vault = PartitionID(bytes: [UInt8](repeating: 0, count: byteCount))!

  // The bytes, the first one the most significant: ten thousand arrays would take memory.
  private let high, low: UInt64

  /// The random bytes of the id; zeros for `vault`.
  public var bytes: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Self.byteCount) { bytes, count in
      for index in 0..<8 {
        bytes[index] = UInt8(truncatingIfNeeded: high >> UInt64(56 - 8 * index))
        bytes[index + 8] = UInt8(truncatingIfNeeded: low >> UInt64(56 - 8 * index))
      }
      count = Self.byteCount
    }
  }

  /// The first of `bytes`.
  public var firstByte: UInt8 { UInt8(truncatingIfNeeded: high >> 56) }

  /// Takes exactly `byteCount` bytes; nil for any other length.
  public init?(bytes: [UInt8]) {
    let parsed = bytes.withUnsafeBytes { PartitionID($0) }
    guard let parsed else { return nil }
    self = parsed
  }

  /// The same, of bytes that lie in no array.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.byteCount else { return nil }
    high = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
    low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  public static func < (a: PartitionID, b: PartitionID) -> Bool { (a.high, a.low) < (b.high, b.low) }
}

/// The type of a record's content. A number is part of the encrypted format and is never reused for another type.
public struct RecordKind: RawRepresentable, Hashable, Comparable, Sendable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }
  public static func < (a: RecordKind, b: RecordKind) -> Bool { a.rawValue < b.rawValue }
}

/// The primary key of a record.
public struct RecordKey: Hashable, Sendable {
  /// The partition whose key encrypts the record.
  public var partition: PartitionID
  /// The type of the content.
  public var kind: RecordKind
  /// An id within partition and kind; empty for a single record of its kind.
  public var id: [UInt8]

  public init(partition: PartitionID, kind: RecordKind, id: [UInt8] = []) {
    self.partition = partition
    self.kind = kind
    self.id = id
  }
}

/// A record as the store keeps it.
public struct SealedRecord: Sendable, Equatable {
  /// The primary key, part of the additional data.
  public var key: RecordKey
  /// The layout version of the plaintext.
  public var schema: UInt16
  /// The epoch of the root key that encrypted the record.
  public var keyEpoch: UInt32
  /// Counts the writes of this record. The partition's head holds the expected value, so a replayed record is detected.
  public var generation: UInt64
  /// Nonce, ciphertext and tag.
  public var sealed: [UInt8]

  public init(key: RecordKey, schema: UInt16, keyEpoch: UInt32, generation: UInt64, sealed: [UInt8]) {
    self.key = key
    self.schema = schema
    self.keyEpoch = keyEpoch
    self.generation = generation
    self.sealed = sealed
  }
}

/// A key slot: the root key encrypted under a slot key, with the parameters that give the slot key.
public struct KeySlotRow: Sendable, Equatable {
  /// The slot's number, unique in the database.
  public var number: Int
  /// The kind of slot key, such as `keyFile` or `passphrase`.
  public var protection: String
  /// Salt and costs, in a layout of the protection.
  public var parameters: [UInt8]
  /// A keyed hash of the slot key, checked before decryption to distinguish a wrong key from a damaged slot.
  public var commitment: [UInt8]
  /// The epoch of the root key in the slot.
  public var keyEpoch: UInt32
  /// The encrypted root key.
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

/// One write of a batch.
public enum StoreWrite: Sendable, Equatable {
  /// Inserts or replaces a record.
  case put(SealedRecord)
  /// Deletes a record; a missing one is no failure.
  case delete(RecordKey)
  /// Deletes all records of a partition.
  case deletePartition(PartitionID)
  /// Sets a metadata value.
  case putMetadata(name: String, value: [UInt8])
  /// Removes a metadata value.
  case deleteMetadata(name: String)
  /// Inserts or replaces a key slot.
  case putKeySlot(KeySlotRow)
  /// Deletes a key slot.
  case deleteKeySlot(number: Int)
  /// Inserts an audit entry, replacing a row of either ring with the same number: another program wrote that row, and
  /// it must not stop the agent.
  case appendAudit(AuditRow)
  /// Deletes the audit entries of a ring up to and including a number.
  case deleteAudit(AuditRing, through: Int64)
}
