internal import AgentCore
internal import AgentPorts
internal import Secrets

enum VaultFailure: Error, Sendable, Equatable {
  case locked
  /// A record of this partition failed to open, or is not what its head says.
  case integrity
  /// The data key of this partition is under the person's PIN.
  case dataLocked
  case store(StoreFailure)
}

/// One change of the vault's content; a list of them is one durable transaction.
enum VaultChange: Sendable {
  case put(PartitionID, RecordKind, id: [UInt8] = [], Secret)
  case delete(PartitionID, RecordKind, id: [UInt8] = [])
  /// Destroys the keys of an incarnation with all its rows.
  case destroy(PartitionID)
  /// Appends to the audit log.
  case audit(AuditEntry)
  /// From here on the data key is nowhere but where somebody has wrapped it.
  case lockData(PartitionID)
  case unlockData(PartitionID, SealingKey)
  /// A data key that nobody has any more: what it sealed goes, and a new one takes its place.
  case renewData(PartitionID)
}

/// Seals what the agent keeps, and opens it again. Owned by one actor; every call is synchronous and durable.
///
/// Accounts are parted by keys, not by a WHERE clause: each incarnation has a token key and a data key of its own,
/// wrapped by the wrap key; a record's additional data names everything that it must not be moved across.
final class Vault {
  private static let schema: UInt16 = 1

  let store: any Store
  let keys: Keys
  /// Nil until it is read, and after a commit that failed.
  private(set) var knownAuditChain: AuditChain?
  let auditBound: AuditChain.Bound
  private var partitions: [PartitionID: Partition] = [:]

  struct Keys {
    let epoch: UInt32
    let directory, head, index, vault, outbox, log, pepper: SealingKey

    init(root: SealingKey, epoch: UInt32) {
      self.epoch = epoch
      directory = root.derive("lanyard wrap")
      head = root.derive("lanyard head")
      index = root.derive("lanyard index")
      vault = root.derive("lanyard vault")
      outbox = root.derive("lanyard outbox")
      log = root.derive("lanyard log")
      pepper = root.derive("lanyard step-up pepper")
    }
  }

  private struct Partition {
    var head: VaultHead
    /// Nil for the vault's own records, which have no incarnation.
    var keys: AccountKeys?
  }

  /// The keys of one incarnation. The data key is nil while it is under the person's PIN.
  private struct AccountKeys {
    var token: SealingKey
    var data: SealingKey?

    init(token: SealingKey, data: SealingKey?) {
      self.token = token
      self.data = data
    }

    init?(_ plain: Secret) {
      let size = SealingKey.byteCount
      guard plain.count == size || plain.count == 2 * size else { return nil }
      let halves = plain.withBytes { bytes in
        stride(from: 0, to: bytes.count, by: size).map { start in
          SealingKey(Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[start..<start + size])))!
        }
      }
      (token, data) = (halves[0], halves.count == 2 ? halves[1] : nil)
    }

    var plain: Secret {
      var builder = SecretBuilder(capacity: 2 * SealingKey.byteCount)
      builder.append(token.secret)
      if let data { builder.append(data.secret) }
      return builder.finish()
    }
  }

  init(store: any Store, root: SealingKey, epoch: UInt32, auditBound: AuditChain.Bound = .standard) {
    self.store = store
    self.keys = Keys(root: root, epoch: epoch)
    self.auditBound = auditBound
  }

  /// A keyed digest under which something is looked up without its name standing in the file.
  func index(_ label: String, _ name: String) -> [UInt8] {
    Array(keys.index.digest(label, Array(name.utf8)).prefix(16))
  }

  // MARK: reading

  func read(_ partition: PartitionID, _ kind: RecordKind, id: [UInt8] = []) throws(VaultFailure) -> Secret? {
    let opened = try open(partition)
    let key = RecordKey(partition: partition, kind: kind, id: id)
    guard let row = try onStore({ () throws(StoreFailure) in try store.record(key) }) else { return nil }
    guard opened.head.generations[.init(kind: kind, id: id)] == row.generation else { throw .integrity }
    return try unseal(row, sealingKey(kind, partition, opened.keys))
  }

  func readAll(_ partition: PartitionID, _ kind: RecordKind) throws(VaultFailure) -> [(id: [UInt8], plain: Secret)] {
    let opened = try open(partition)
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: partition, kind: kind) }
    var found: [(id: [UInt8], plain: Secret)] = []
    for row in rows {
      guard opened.head.generations[.init(kind: kind, id: row.key.id)] == row.generation else { throw .integrity }
      found.append((row.key.id, try unseal(row, sealingKey(kind, partition, opened.keys))))
    }
    return found
  }

  /// The profiles of all partitions, without opening each one: how the directory is filled at the start, one at a time,
  /// so that ten thousand of them do not lie in guarded memory together. Nil stands for a profile that does not open;
  /// its account says `integrity` when it is asked for.
  func forEachProfile(_ body: (PartitionID, Secret?) -> Void) throws(VaultFailure) {
    try onStore { () throws(StoreFailure) in
      try store.forEachRecord(of: .profile) { row in
        body(row.key.partition, try? unseal(row, sealingKey(.profile, row.key.partition, nil)))
      }
    }
  }

  /// Opens a partition and holds its rows against its head, once: afterwards only this vault writes to it.
  private func open(_ partition: PartitionID) throws(VaultFailure) -> Partition {
    if let known = partitions[partition] { return known }
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: partition) }
    guard !rows.isEmpty else {
      // A vault that has nothing yet, or an account's partition that is about to be made.
      return Partition(head: VaultHead(), keys: nil)
    }
    guard let headRow = rows.first(where: { $0.key.kind == .head }),
      let head = VaultHead(
        try unseal(headRow, keys.head.derive("head", partition.bytes)), generation: headRow.generation),
      head.matches(rows)
    else { throw .integrity }
    var opened = Partition(head: head, keys: nil)
    if partition != .vault {
      guard let row = rows.first(where: { $0.key.kind == .accountKeys }) else { throw .integrity }
      let plain = try unseal(row, sealingKey(.accountKeys, partition, nil))
      guard let keys = AccountKeys(plain) else { throw .integrity }
      opened.keys = keys
    }
    partitions[partition] = opened
    return opened
  }

  // MARK: the data key and the PIN

  /// What is added to whatever a person types before it is stretched: without this vault a PIN can't be guessed.
  func pepper(for partition: PartitionID) -> SealingKey { keys.pepper.derive("partition", partition.bytes) }

  /// Nil while it is under the person's PIN.
  func dataKey(of partition: PartitionID) throws(VaultFailure) -> SealingKey? { try open(partition).keys?.data }

  /// True if this partition has keys and its data key is not among them.
  func isDataLocked(_ partition: PartitionID) throws(VaultFailure) -> Bool {
    try open(partition).keys.map { $0.data == nil } ?? false
  }

  // MARK: writing

  /// Applies all changes in one durable transaction, or none. What is in memory follows only what is on the disk.
  func apply(_ changes: [VaultChange]) throws(VaultFailure) {
    var batch: [StoreWrite] = []
    var touched: [PartitionID: Partition] = [:]
    var destroyed: Set<PartitionID> = []
    var entries: [AuditEntry] = []
    for change in changes {
      switch change {
      case .put(let partition, let kind, let id, let plain):
        var state: Partition
        if let known = touched[partition] { state = known } else { state = try prepared(partition, into: &batch) }
        try put(plain, kind, id, partition, &state, &batch)
        touched[partition] = state
      case .delete(let partition, let kind, let id):
        var state: Partition
        if let known = touched[partition] { state = known } else { state = try prepared(partition, into: &batch) }
        state.head.generations[.init(kind: kind, id: id)] = nil
        batch.append(.delete(RecordKey(partition: partition, kind: kind, id: id)))
        touched[partition] = state
      case .destroy(let partition):
        touched[partition] = nil
        destroyed.insert(partition)
        batch.append(.deletePartition(partition))
      case .audit(let entry): entries.append(entry)
      case .lockData(let partition):
        try changeKeys(of: partition, &touched, &batch) { $0.data = nil }
      case .unlockData(let partition, let key):
        try changeKeys(of: partition, &touched, &batch) { $0.data = key }
      case .renewData(let partition):
        try changeKeys(of: partition, &touched, &batch) { $0.data = SealingKey.random() }
        let sealed = touched[partition]!.head.generations.keys.filter { $0.kind.keyClass == .data }
        for entry in sealed.sorted(by: { ($0.kind, $0.id.description) < ($1.kind, $1.id.description) }) {
          touched[partition]!.head.generations[entry] = nil
          batch.append(.delete(RecordKey(partition: partition, kind: entry.kind, id: entry.id)))
        }
      }
    }
    var chain: AuditChain?
    if !entries.isEmpty {
      let appended = try append(entries, to: &batch)
      var state: Partition
      if let known = touched[.vault] { state = known } else { state = try prepared(.vault, into: &batch) }
      try put(appended.record, .auditChain, [], .vault, &state, &batch)
      touched[.vault] = state
      chain = appended
    }
    for partition in touched.keys.sorted() {
      touched[partition]!.head.generation += 1
      let head = touched[partition]!.head
      batch.append(
        .put(seal(head.plain, .head, [], partition, head.generation, keys.head.derive("head", partition.bytes))))
    }
    let writes = batch
    do throws(VaultFailure) {
      try onStore { () throws(StoreFailure) in try store.commit(writes) }
    } catch {
      // The batch may have landed all the same: what the heads say is read again, and not built on.
      for partition in touched.keys { partitions[partition] = nil }
      for partition in destroyed { partitions[partition] = nil }
      knownAuditChain = nil
      throw error
    }
    if let chain { knownAuditChain = chain }
    for (partition, state) in touched { partitions[partition] = state }
    for partition in destroyed { partitions[partition] = nil }
  }

  /// Moves the log into the file and empties it; false if a reader prevents it. Tried again at the next start.
  func truncateLog() throws(VaultFailure) -> Bool {
    try onStore { () throws(StoreFailure) in try store.truncateLog() }
  }

  /// Can the next commit be written? Asked before a token is spent.
  func checkWritable() throws(VaultFailure) {
    // A staged answer is bounded by 1 MiB; ordinary ones stay under this.
    try onStore { () throws(StoreFailure) in try store.checkWritable(bytes: 64 << 10) }
  }

  /// The state of a partition before its first change in a batch; a new one gets its keys in the same transaction.
  private func prepared(_ partition: PartitionID, into batch: inout [StoreWrite]) throws(VaultFailure) -> Partition {
    var state = try open(partition)
    guard partition != .vault, state.keys == nil else { return state }
    let keys = AccountKeys(token: SealingKey.random(), data: SealingKey.random())
    state.keys = keys
    try put(keys.plain, .accountKeys, [], partition, &state, &batch)
    return state
  }

  private func changeKeys(
    of partition: PartitionID, _ touched: inout [PartitionID: Partition], _ batch: inout [StoreWrite],
    _ body: (inout AccountKeys) -> Void
  ) throws(VaultFailure) {
    var state: Partition
    if let known = touched[partition] { state = known } else { state = try prepared(partition, into: &batch) }
    guard var keys = state.keys else { throw .integrity }
    body(&keys)
    state.keys = keys
    try put(keys.plain, .accountKeys, [], partition, &state, &batch)
    touched[partition] = state
  }

  private func put(
    _ plain: Secret, _ kind: RecordKind, _ id: [UInt8], _ partition: PartitionID, _ state: inout Partition,
    _ batch: inout [StoreWrite]
  ) throws(VaultFailure) {
    let entry = VaultHead.Entry(kind: kind, id: id)
    // Generations never start again, also after a deletion: the head's own count is above all it ever gave.
    let generation = state.head.generation + 1
    state.head.generations[entry] = generation
    batch.append(.put(seal(plain, kind, id, partition, generation, try sealingKey(kind, partition, state.keys))))
  }

  // MARK: seals

  private func sealingKey(
    _ kind: RecordKind, _ partition: PartitionID, _ keysOfPartition: AccountKeys?
  ) throws(VaultFailure) -> SealingKey {
    let context = partition.bytes + withUnsafeBytes(of: kind.rawValue.littleEndian) { Array($0) }
    switch kind.keyClass {
    case .head: return keys.head.derive("head", partition.bytes)
    case .directory: return keys.directory.derive("record", context)
    case .vault: return keys.vault.derive("record", context)
    case .outbox: return keys.outbox.derive("record", context)
    // A partition without keys of its own has no such records: what claims to be one does not open.
    case .token: return (keysOfPartition?.token ?? keys.directory).derive("record", context)
    case .data:
      guard let keysOfPartition else { return keys.directory.derive("record", context) }
      guard let data = keysOfPartition.data else { throw .dataLocked }
      return data.derive("record", context)
    }
  }

  private func seal(
    _ plain: Secret, _ kind: RecordKind, _ id: [UInt8], _ partition: PartitionID, _ generation: UInt64,
    _ key: SealingKey
  ) -> SealedRecord {
    var record = SealedRecord(
      key: RecordKey(partition: partition, kind: kind, id: id), schema: Self.schema, keyEpoch: keys.epoch,
      generation: generation, sealed: [])
    record.sealed = key.seal(plain, additionalData: additionalData(record))
    return record
  }

  private func unseal(_ record: SealedRecord, _ key: SealingKey) throws(VaultFailure) -> Secret {
    do {
      return try key.open(record.sealed, additionalData: additionalData(record))
    } catch {
      throw .integrity
    }
  }

  /// Account and incarnation are the partition: it is random for each incarnation of an account.
  private func additionalData(_ record: SealedRecord) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append(Array("lanyard record 1".utf8))
    fields.append(store.databaseID)
    fields.append(record.key.partition.bytes)
    fields.append(UInt64(record.key.kind.rawValue))
    fields.append(record.key.id)
    fields.append(UInt64(record.schema))
    fields.append(UInt64(record.keyEpoch))
    fields.append(record.generation)
    return fields.bytes
  }

  func onStore<Result>(_ body: () throws(StoreFailure) -> Result) throws(VaultFailure) -> Result {
    do {
      return try body()
    } catch {
      throw .store(error)
    }
  }
}
