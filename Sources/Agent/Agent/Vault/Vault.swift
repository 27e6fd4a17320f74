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
  case audit(Secret)
  /// From here on the data key is nowhere but where somebody has wrapped it.
  case lockData(PartitionID)
  case unlockData(PartitionID, SealingKey)
  /// A data key that nobody has any more: what it sealed goes, and a new one takes its place.
  case renewData(PartitionID)
  /// Brings a partition under the root key of now, if it is under the one before.
  case reseal(PartitionID)

  fileprivate var auditEntry: Secret? { if case .audit(let entry) = self { entry } else { nil } }

  /// An old copy of the store must not undo it (`VaultLedger`). What is written many times an hour and only ever
  /// narrows, as time does, is not counted: the anchor costs as much as the commit.
  fileprivate var isCounted: Bool {
    switch self {
    case .put(_, let kind, _, _), .delete(_, let kind, _): kind.isCounted
    case .destroy, .lockData, .unlockData, .renewData, .reseal: true
    case .audit: false
    }
  }
}

/// Seals what the agent keeps, and opens it again. Owned by one actor; every call is synchronous and durable.
///
/// Accounts are parted by keys, not by a WHERE clause: each incarnation has a token key and a data key of its own,
/// wrapped by the wrap key; a record's additional data names everything that it must not be moved across.
///
/// Three things tell an old row from a new one: the head of a partition knows the generation of each of its records,
/// the ledger knows the generation of each head, and the anchor outside the store knows how far the ledger had come.
final class Vault {
  private static let schema: UInt16 = 1

  let store: any Store
  /// What is sealed from now on is sealed under these.
  private(set) var keys: VaultKeys
  /// While a rotation of the root key is on its way: the keys of what it has not reached yet.
  private(set) var previousKeys: VaultKeys?
  /// Nil until it is read, and after a commit that failed.
  private(set) var knownAuditChain: AuditChain?
  let auditBound: AuditChain.Bound
  /// Tells how far the store has come to a witness outside of it.
  let witness: RollbackGuard
  private var partitions: [PartitionID: Partition] = [:]
  private var knownLedger: VaultLedger?
  /// The next change counts, whatever it is.
  private var owesCount = false
  private var owedMarks: Set<Int> = []

  struct Partition {
    var head: VaultHead
    /// Under which root key its records are; those under the data key keep the epoch in which they were written.
    var epoch: UInt32
    /// Nil for the vault's own records, which have no incarnation.
    var keys: AccountKeys?
  }

  init(
    store: any Store, root: SealingKey, epoch: UInt32, previous: VaultKeys? = nil,
    witness: RollbackGuard = RollbackGuard(), auditBound: AuditChain.Bound = .standard
  ) {
    self.store = store
    keys = VaultKeys(root: root, epoch: epoch)
    previousKeys = previous
    self.witness = witness
    self.auditBound = auditBound
  }

  /// A keyed digest under which something is looked up without its name standing in the file.
  func index(_ label: String, _ name: String) throws(VaultFailure) -> [UInt8] {
    let key = try read(.vault, .indexKey).flatMap { SealingKey($0) } ?? keys.index
    return Array(key.digest(label, Array(name.utf8)).prefix(16))
  }

  /// The keys that sealed a record; what names an epoch that nobody has a key of does not open.
  func keys(of epoch: UInt32) throws(VaultFailure) -> VaultKeys {
    if epoch == keys.epoch { return keys }
    guard let previousKeys, previousKeys.epoch == epoch else { throw .integrity }
    return previousKeys
  }

  // MARK: reading

  func read(_ partition: PartitionID, _ kind: RecordKind, id: [UInt8] = []) throws(VaultFailure) -> Secret? {
    let opened = try open(partition)
    // What the head does not name is not there, whoever put a row.
    guard let generation = opened.head.generations[.init(kind: kind, id: id)] else { return nil }
    let key = RecordKey(partition: partition, kind: kind, id: id)
    guard let row = try onStore({ () throws(StoreFailure) in try store.record(key) }), row.generation == generation
    else { throw .integrity }
    return try unseal(row, sealingKey(kind, partition, opened))
  }

  func readAll(_ partition: PartitionID, _ kind: RecordKind) throws(VaultFailure) -> [(id: [UInt8], plain: Secret)] {
    let opened = try open(partition)
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: partition, kind: kind) }
    var found: [(id: [UInt8], plain: Secret)] = []
    for row in rows {
      guard opened.head.generations[.init(kind: kind, id: row.key.id)] == row.generation else { throw .integrity }
      found.append((row.key.id, try unseal(row, sealingKey(kind, partition, opened))))
    }
    guard found.count == opened.head.generations.keys.count(where: { $0.kind == kind }) else { throw .integrity }
    return found
  }

  /// The profiles of all partitions, without opening each one: how the directory is filled at the start, one at a time,
  /// so that ten thousand of them do not lie in guarded memory together. Nil stands for a profile that does not open;
  /// its account says `integrity` when it is asked for.
  func forEachProfile(_ body: (PartitionID, Secret?) -> Void) throws(VaultFailure) {
    let ledger = try ledger()
    var missing = Set(ledger.partitions)
    try onStore { () throws(StoreFailure) in
      try store.forEachRecord(of: .profile) { row in
        let partition = row.key.partition
        // What the ledger does not know was put there, or put back after it was erased: it is nobody's account.
        guard missing.remove(partition) != nil else { return }
        body(
          partition, try? unseal(row, keys(of: row.keyEpoch).directory.derive("record", context(.profile, partition))))
      }
    }
    for partition in missing { body(partition, nil) }
  }

  /// The ids that the head of a partition names, in order.
  func namedRecords(of kind: RecordKind, in partition: PartitionID) throws(VaultFailure) -> [[UInt8]] {
    try open(partition).head.generations.keys.filter { $0.kind == kind }.map(\.id)
      .sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// The kinds that the vault's own head names.
  func ownKinds() throws(VaultFailure) -> Set<RecordKind> {
    Set(try open(.vault).head.generations.keys.map(\.kind))
  }

  /// Opens a partition and holds its rows against its head, and its head against the ledger, once: afterwards only this
  /// vault writes to it.
  func open(_ partition: PartitionID) throws(VaultFailure) -> Partition {
    if let known = partitions[partition] { return known }
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: partition) }
    guard !rows.isEmpty else {
      // A vault that has nothing yet, or an account's partition that is about to be made.
      if partition != .vault, try ledger().generation(of: partition) != nil { throw .integrity }
      return Partition(head: VaultHead(), epoch: keys.epoch, keys: nil)
    }
    guard let headRow = rows.first(where: { $0.key.kind == .head && $0.key.id.isEmpty }),
      let head = VaultHead(try unsealHead(headRow), generation: headRow.generation),
      head.strays(among: rows).allSatisfy({ partition == .vault && $0.kind.answersForItself })
    else { throw .integrity }
    var opened = Partition(head: head, epoch: headRow.keyEpoch, keys: nil)
    if partition != .vault {
      guard try ledger().generation(of: partition) == head.generation,
        let row = rows.first(where: { $0.key.kind == .accountKeys })
      else { throw .integrity }
      let plain = try unseal(row, sealingKey(.accountKeys, partition, opened))
      guard let keys = AccountKeys(plain) else { throw .integrity }
      opened.keys = keys
    }
    partitions[partition] = opened
    return opened
  }

  /// The records of one kind as they stand in the store, held against their head: not opened.
  func sealedRecords(_ partition: PartitionID, _ kind: RecordKind) throws(VaultFailure) -> [SealedRecord] {
    let head = try open(partition).head
    return try onStore { () throws(StoreFailure) in try store.records(in: partition, kind: kind) }
      .filter { head.generations[.init(kind: kind, id: $0.key.id)] == $0.generation }
  }

  /// Opens every record of an account as it stands in the store now. Of what is under the person's PIN only the head can
  /// tell.
  func check(_ partition: PartitionID) throws(VaultFailure) {
    let opened = try open(partition)
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: partition) }
      .filter { $0.key.kind != .head }
    guard rows.count == opened.head.generations.count else { throw .integrity }
    for row in rows {
      guard opened.head.generations[.init(kind: row.key.kind, id: row.key.id)] == row.generation else {
        throw .integrity
      }
      if row.key.kind.keyClass == .data, opened.keys?.data == nil { continue }
      _ = try unseal(row, sealingKey(row.key.kind, partition, opened))
    }
  }

  /// What opens a copy of this store, under the same keys and away from this vault's actor.
  var opensCopies: @Sendable (any Store) -> Vault {
    let (root, epoch, previous) = (keys.root, keys.epoch, previousKeys)
    return { Vault(store: $0, root: root, epoch: epoch, previous: previous) }
  }

  // MARK: the ledger

  func ledger() throws(VaultFailure) -> VaultLedger {
    if let knownLedger { return knownLedger }
    let ledger: VaultLedger
    if let sequence = try read(.vault, .sequence) {
      guard let read = VaultLedger(sequence: sequence, marks: try readAll(.vault, .mark).map(\.plain)) else {
        throw .integrity
      }
      ledger = read
    } else {
      ledger = try firstLedger()
    }
    knownLedger = ledger
    return ledger
  }

  /// The next change is counted above what an anchor knows of a store that came after this one, and closes partitions
  /// for good: no head is ever of the generation that the ledger asks for then.
  func pass(_ anchored: UInt64, closing closed: Set<PartitionID>) throws(VaultFailure) {
    var ledger = try ledger()
    ledger.pass(anchored)
    for partition in closed { owedMarks.insert(ledger.set(.max, of: partition)) }
    forget(closed)
    knownLedger = ledger
    owesCount = true
  }

  /// Of a vault that is new, or from before there were ledgers: what its heads say is believed, this once.
  private func firstLedger() throws(VaultFailure) -> VaultLedger {
    var ledger = VaultLedger()
    for row in try onStore({ () throws(StoreFailure) in try store.records(kind: .head) })
    where row.key.partition != .vault && (try? unsealHead(row)) != nil {
      _ = ledger.set(row.generation, of: row.key.partition)
    }
    return ledger
  }

  // MARK: the data key and the PIN

  /// What is added to whatever a person types before it is stretched: without this vault a PIN can't be guessed. It
  /// outlives the root key that it came from, since what hangs on it can't be made again without the person.
  func pepper(for partition: PartitionID) throws(VaultFailure) -> SealingKey {
    if let kept = try read(partition, .pepper) {
      guard let key = SealingKey(kept) else { throw .integrity }
      return key
    }
    return try keys(of: open(partition).epoch).pepper.derive("partition", partition.bytes)
  }

  /// Nil while it is under the person's PIN.
  func dataKey(of partition: PartitionID) throws(VaultFailure) -> SealingKey? { try open(partition).keys?.data }

  /// True if this partition has keys and its data key is not among them.
  func isDataLocked(_ partition: PartitionID) throws(VaultFailure) -> Bool {
    try open(partition).keys.map { $0.data == nil } ?? false
  }

  // MARK: writing

  /// What a list of changes comes to, before it is committed.
  private struct Draft {
    var writes: [StoreWrite]
    var touched: [PartitionID: Partition] = [:]
    var destroyed: Set<PartitionID> = []
  }

  /// Applies all changes in one durable transaction, or none, together with writes that are no records. What is in
  /// memory follows only what is on the disk.
  func apply(_ changes: [VaultChange], with writes: [StoreWrite] = []) throws(VaultFailure) {
    var draft = Draft(writes: writes)
    for change in changes { try draw(change, in: &draft) }
    let chain = try draw(changes.compactMap(\.auditEntry), in: &draft)
    let isCounted = owesCount || !writes.isEmpty || changes.contains(where: \.isCounted)
    let ledger = try settle(&draft, isCounted: isCounted)
    let batch = draft.writes
    do throws(VaultFailure) {
      try onStore { () throws(StoreFailure) in try store.commit(batch) }
    } catch {
      // The batch may have landed all the same: what the heads say is read again, and not built on.
      forget(draft.touched.keys)
      forget(draft.destroyed)
      knownAuditChain = nil
      throw error
    }
    if let chain { knownAuditChain = chain }
    for (partition, state) in draft.touched { partitions[partition] = state }
    for partition in draft.destroyed { partitions[partition] = nil }
    let isNewer = ledger.sequence != knownLedger?.sequence
    knownLedger = ledger
    owesCount = false
    owedMarks = []
    if isNewer { witness.advance(store.databaseID, to: ledger.sequence) }
  }

  private func forget(_ changed: some Sequence<PartitionID>) {
    for partition in changed { partitions[partition] = nil }
    knownLedger = nil
  }

  private func draw(_ change: VaultChange, in draft: inout Draft) throws(VaultFailure) {
    switch change {
    case .put(let partition, let kind, let id, let plain):
      var state = try state(of: partition, in: &draft)
      try put(plain, kind, id, partition, &state, &draft.writes)
      draft.touched[partition] = state
    case .delete(let partition, let kind, let id):
      var state = try state(of: partition, in: &draft)
      state.head.generations[.init(kind: kind, id: id)] = nil
      draft.writes.append(.delete(RecordKey(partition: partition, kind: kind, id: id)))
      draft.touched[partition] = state
    case .destroy(let partition):
      draft.touched[partition] = nil
      draft.destroyed.insert(partition)
      draft.writes.append(.deletePartition(partition))
    case .reseal(let partition): draft.touched[partition] = try state(of: partition, in: &draft)
    // Together, when everything else is drawn.
    case .audit: break
    case .lockData(let partition): try changeKeys(of: partition, in: &draft) { $0.data = nil }
    case .unlockData(let partition, let key): try changeKeys(of: partition, in: &draft) { $0.data = key }
    case .renewData(let partition):
      try changeKeys(of: partition, in: &draft) { $0.data = SealingKey.random() }
      let sealed = draft.touched[partition]!.head.generations.keys.filter {
        $0.kind.keyClass == .data || $0.kind == .keptData
      }
      for entry in sealed.sorted(by: { ($0.kind, $0.id.description) < ($1.kind, $1.id.description) }) {
        draft.touched[partition]!.head.generations[entry] = nil
        draft.writes.append(.delete(RecordKey(partition: partition, kind: entry.kind, id: entry.id)))
      }
    }
  }

  private func draw(_ entries: [Secret], in draft: inout Draft) throws(VaultFailure) -> AuditChain? {
    guard !entries.isEmpty else { return nil }
    let chain = try append(entries, to: &draft.writes)
    var state = try state(of: .vault, in: &draft)
    try put(chain.record, .auditChain, [], .vault, &state, &draft.writes)
    draft.touched[.vault] = state
    return chain
  }

  /// The heads of what was touched, and the ledger of the heads. The ledger as it is if the batch lands.
  private func settle(_ draft: inout Draft, isCounted: Bool) throws(VaultFailure) -> VaultLedger {
    var ledger = try ledger()
    let isFirst = try open(.vault).head.generations[.init(kind: .sequence, id: [])] == nil
    var marks = isFirst ? ledger.usedMarks : owedMarks
    for partition in draft.touched.keys.sorted() where partition != .vault {
      marks.insert(ledger.set(try raiseHead(of: partition, in: &draft), of: partition))
    }
    for partition in draft.destroyed where draft.touched[partition] == nil {
      marks.insert(ledger.set(nil, of: partition))
    }
    if isCounted || isFirst { ledger.advance() }
    if !marks.isEmpty || isCounted {
      var state = try state(of: .vault, in: &draft)
      if isCounted || isFirst { try put(ledger.sequenceRecord, .sequence, [], .vault, &state, &draft.writes) }
      for mark in marks.sorted() {
        try put(ledger.record(of: mark), .mark, [UInt8(mark)], .vault, &state, &draft.writes)
      }
      draft.touched[.vault] = state
    }
    if draft.touched[.vault] != nil { _ = try raiseHead(of: .vault, in: &draft) }
    return ledger
  }

  private func raiseHead(of partition: PartitionID, in draft: inout Draft) throws(VaultFailure) -> UInt64 {
    draft.touched[partition]!.head.generation += 1
    let head = draft.touched[partition]!.head
    draft.writes.append(
      .put(seal(head.plain, .head, [], partition, head.generation, keys.head.derive("head", partition.bytes))))
    return head.generation
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

  /// The state of a partition as the draft has it. A new one gets its keys in the same transaction, and one that is
  /// still under the root key of before is sealed again whole: no partition is ever under two of them.
  private func state(of partition: PartitionID, in draft: inout Draft) throws(VaultFailure) -> Partition {
    if let known = draft.touched[partition] { return known }
    var state = try open(partition)
    if state.epoch != keys.epoch { return try reseal(partition, state, into: &draft.writes) }
    guard partition != .vault, state.keys == nil else { return state }
    let keys = AccountKeys(token: SealingKey.random(), data: SealingKey.random())
    state.keys = keys
    try put(keys.plain, .accountKeys, [], partition, &state, &draft.writes)
    return state
  }

  private func changeKeys(
    of partition: PartitionID, in draft: inout Draft, _ body: (inout AccountKeys) -> Void
  ) throws(VaultFailure) {
    var state = try state(of: partition, in: &draft)
    guard var keys = state.keys else { throw .integrity }
    body(&keys)
    state.keys = keys
    try put(keys.plain, .accountKeys, [], partition, &state, &draft.writes)
    draft.touched[partition] = state
  }

  private func put(
    _ plain: Secret, _ kind: RecordKind, _ id: [UInt8], _ partition: PartitionID, _ state: inout Partition,
    _ batch: inout [StoreWrite]
  ) throws(VaultFailure) {
    let entry = VaultHead.Entry(kind: kind, id: id)
    // Generations never start again, also after a deletion: the head's own count is above all it ever gave.
    let generation = state.head.generation + 1
    state.head.generations[entry] = generation
    batch.append(.put(seal(plain, kind, id, partition, generation, try sealingKey(kind, partition, state))))
  }

  // MARK: another root key

  /// From here on everything is sealed under `keys`; what is still under `previous` is read with them.
  func adopt(_ keys: VaultKeys, previous: VaultKeys?) {
    self.keys = keys
    previousKeys = previous
    forget(Array(partitions.keys))
    knownAuditChain = nil
  }

  /// Every record of a partition under the keys of now, and the account's own keys made new: whoever had the old root
  /// key had those too. The data key stays where a wrapping of it hangs on the person's PIN.
  private func reseal(
    _ partition: PartitionID, _ old: Partition, into batch: inout [StoreWrite]
  ) throws(VaultFailure) -> Partition {
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: partition) }
    let pepper = partition == .vault ? nil : try pepper(for: partition)
    let isDataKept = old.keys?.data == nil || old.head.generations.keys.contains { $0.kind == .stepUp }
    var state = old
    state.epoch = keys.epoch
    if let keys = old.keys {
      let new = AccountKeys(token: SealingKey.random(), data: isDataKept ? keys.data : SealingKey.random())
      state.keys = new
      try put(new.plain, .accountKeys, [], partition, &state, &batch)
    }
    for row in rows where row.key.kind != .head && row.key.kind != .accountKeys && row.key.kind != .pepper {
      if isDataKept, row.key.kind.keyClass == .data { continue }
      // The head was looked at when the partition was opened; a row may have been put back since.
      guard old.head.generations[.init(kind: row.key.kind, id: row.key.id)] == row.generation,
        let plain = try? unseal(row, sealingKey(row.key.kind, partition, old))
      else {
        // Damaged it is, and damaged it stays; what must be whole can't be carried over.
        if partition == .vault, row.key.kind.answersForItself { continue }
        throw .integrity
      }
      try put(plain, row.key.kind, row.key.id, partition, &state, &batch)
    }
    if let pepper { try put(pepper.secret, .pepper, [], partition, &state, &batch) }
    return state
  }

  // MARK: seals

  private func context(_ kind: RecordKind, _ partition: PartitionID) -> [UInt8] { Self.context(kind, partition) }

  static func context(_ kind: RecordKind, _ partition: PartitionID) -> [UInt8] {
    partition.bytes + withUnsafeBytes(of: kind.rawValue.littleEndian) { Array($0) }
  }

  private func sealingKey(
    _ kind: RecordKind, _ partition: PartitionID, _ opened: Partition
  ) throws(VaultFailure) -> SealingKey {
    let keys = try keys(of: opened.epoch)
    let context = context(kind, partition)
    switch kind.keyClass {
    case .head: return keys.head.derive("head", partition.bytes)
    case .directory: return keys.directory.derive("record", context)
    case .vault: return keys.vault.derive("record", context)
    case .outbox: return keys.outbox.derive("record", context)
    // A partition without keys of its own has no such records: what claims to be one does not open.
    case .token: return (opened.keys?.token ?? keys.directory).derive("record", context)
    case .data:
      guard let ofAccount = opened.keys else { return keys.directory.derive("record", context) }
      guard let data = ofAccount.data else { throw .dataLocked }
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

  private func unsealHead(_ row: SealedRecord) throws(VaultFailure) -> Secret {
    try unseal(row, keys(of: row.keyEpoch).head.derive("head", row.key.partition.bytes))
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
    Self.additionalData(record, in: store.databaseID)
  }

  static func additionalData(_ record: SealedRecord, in databaseID: [UInt8]) -> [UInt8] {
    var fields = LengthPrefixed()
    fields.append(Array("lanyard record 1".utf8))
    fields.append(databaseID)
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
