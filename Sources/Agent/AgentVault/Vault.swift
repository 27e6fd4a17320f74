package import AgentCore
package import AgentPorts
package import Secrets

/// Seals what the agent keeps, and opens it again. Owned by one actor; every call is synchronous and durable.
///
/// Accounts are parted by keys, not by a WHERE clause: each incarnation has a token key and a data key of its own,
/// wrapped by the wrap key; a record's additional data names everything that it must not be moved across.
///
/// Three things tell an old row from a new one: the head of a partition knows the generation of each of its records,
/// the ledger knows the generation of each head, and the anchor outside the store knows how far the ledger had come.
package final class Vault {
  package let store: any Store
  private(set) var seals: RecordSeals
  /// Nil until it is read, and after a commit that failed.
  private(set) var knownAuditChain: AuditChain?
  let auditBound: AuditChain.Bound
  /// Tells how far the store has come to a witness outside of it.
  package let witness: RollbackGuard
  private var partitions: [PartitionID: Partition] = [:]
  private var knownLedger: VaultLedger?
  /// The next change counts, also of a kind that does not.
  private var owesCount = false
  private var owedMarks: Set<Int> = []

  package struct Partition {
    package var head: VaultHead
    /// Under which root key its records are; those under the data key keep the epoch in which they were written.
    package var epoch: UInt32
    /// Nil for the vault's own records, which have no incarnation.
    package var keys: AccountKeys?
  }

  package init(
    store: any Store, root: SealingKey, epoch: UInt32, previous: VaultKeys? = nil,
    witness: RollbackGuard = RollbackGuard(), auditBound: AuditChain.Bound = .standard
  ) {
    self.store = store
    seals = RecordSeals(
      databaseID: store.databaseID, keys: VaultKeys(root: root, epoch: epoch), previousKeys: previous)
    self.witness = witness
    self.auditBound = auditBound
  }

  package var keys: VaultKeys { seals.keys }

  /// A keyed digest under which something is looked up without its name standing in the file.
  package func index(_ label: String, _ name: String) throws(VaultFailure) -> [UInt8] {
    let key = try read(.vault, .indexKey).flatMap { SealingKey($0) } ?? keys.index
    return Array(key.digest(label, Array(name.utf8)).prefix(16))
  }

  // MARK: reading

  package func read(_ partition: PartitionID, _ kind: RecordKind, id: [UInt8] = []) throws(VaultFailure) -> Secret? {
    let opened = try open(partition)
    // A row that the head does not name was inserted from outside.
    guard let generation = opened.head.generations[.init(kind: kind, id: id)] else { return nil }
    let key = RecordKey(partition: partition, kind: kind, id: id)
    guard let row = try onStore({ () throws(StoreFailure) in try store.record(key) }), row.generation == generation
    else { throw .integrity }
    return try seals.open(row, by: seals.key(of: kind, in: partition, opened))
  }

  package func readAll(_ partition: PartitionID, _ kind: RecordKind) throws(VaultFailure) -> [(
    id: [UInt8], plain: Secret
  )] {
    let opened = try open(partition)
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: partition, kind: kind) }
    var found: [(id: [UInt8], plain: Secret)] = []
    for row in rows {
      guard opened.head.generations[.init(kind: kind, id: row.key.id)] == row.generation else { throw .integrity }
      found.append((row.key.id, try seals.open(row, by: seals.key(of: kind, in: partition, opened))))
    }
    guard found.count == opened.head.generations.keys.count(where: { $0.kind == kind }) else { throw .integrity }
    return found
  }

  /// The profiles of all partitions, without opening each one: how the directory is filled at the start, one at a time,
  /// so that ten thousand of them do not lie in guarded memory together. Nil stands for a profile that does not open;
  /// its account says `integrity` when it is asked for.
  package func forEachProfile(_ body: (PartitionID, Secret?) -> Void) throws(VaultFailure) {
    let ledger = try ledger()
    var missing = Set(ledger.partitions)
    try onStore { () throws(StoreFailure) in
      try store.forEachRecord(of: .profile) { row in
        let partition = row.key.partition
        // A row without a ledger entry was inserted or restored from outside; it is ignored.
        guard missing.remove(partition) != nil else { return }
        body(partition, try? seals.open(profile: row))
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
  package func open(_ partition: PartitionID) throws(VaultFailure) -> Partition {
    if let known = partitions[partition] { return known }
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: partition) }
    guard !rows.isEmpty else {
      // A vault that has nothing yet, or an account's partition that is about to be made.
      if partition != .vault, try ledger().generation(of: partition) != nil { throw .integrity }
      return Partition(head: VaultHead(), epoch: keys.epoch, keys: nil)
    }
    guard let headRow = rows.first(where: { $0.key.kind == .head && $0.key.id.isEmpty }),
      let head = VaultHead(try seals.open(head: headRow), generation: headRow.generation),
      head.strays(among: rows).allSatisfy({ partition == .vault && $0.kind.answersForItself })
    else { throw .integrity }
    var opened = Partition(head: head, epoch: headRow.keyEpoch, keys: nil)
    if partition != .vault {
      guard try ledger().generation(of: partition) == head.generation,
        let row = rows.first(where: { $0.key.kind == .accountKeys })
      else { throw .integrity }
      let plain = try seals.open(row, by: seals.key(of: .accountKeys, in: partition, opened))
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
  package func check(_ partition: PartitionID) throws(VaultFailure) {
    let opened = try open(partition)
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: partition) }
      .filter { $0.key.kind != .head }
    guard rows.count == opened.head.generations.count else { throw .integrity }
    for row in rows {
      guard opened.head.generations[.init(kind: row.key.kind, id: row.key.id)] == row.generation else {
        throw .integrity
      }
      if row.key.kind.keyClass == .data, opened.keys?.data == nil { continue }
      _ = try seals.open(row, by: seals.key(of: row.key.kind, in: partition, opened))
    }
  }

  /// Opens a copy of this store, under the same keys and outside `VaultActor`.
  package var opensCopies: @Sendable (any Store) -> Vault {
    let (root, epoch, previous) = (keys.root, keys.epoch, seals.previousKeys)
    return { Vault(store: $0, root: root, epoch: epoch, previous: previous) }
  }

  // MARK: the ledger

  package func ledger() throws(VaultFailure) -> VaultLedger {
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
  package func pass(_ anchored: UInt64, closing closed: Set<PartitionID>) throws(VaultFailure) {
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
    where row.key.partition != .vault && (try? seals.open(head: row)) != nil {
      _ = ledger.set(row.generation, of: row.key.partition)
    }
    return ledger
  }

  // MARK: the data key and the PIN

  /// Mixed into what a person types before it is stretched: without this vault a PIN can't be guessed. It
  /// outlives the root key that it came from, since what hangs on it can't be made again without the person.
  package func pepper(for partition: PartitionID) throws(VaultFailure) -> SealingKey {
    if let kept = try read(partition, .pepper) {
      guard let key = SealingKey(kept) else { throw .integrity }
      return key
    }
    return try seals.keys(of: open(partition).epoch).pepper.derive("partition", partition.bytes)
  }

  /// Nil while it is under the person's PIN.
  package func dataKey(of partition: PartitionID) throws(VaultFailure) -> SealingKey? { try open(partition).keys?.data }

  /// True if this partition has keys and its data key is not among them.
  package func isDataLocked(_ partition: PartitionID) throws(VaultFailure) -> Bool {
    try open(partition).keys.map { $0.data == nil } ?? false
  }

  // MARK: writing

  /// Applies all changes in one durable transaction, or none, together with writes that are no records. What is in
  /// memory follows only what is on the disk.
  package func apply(_ changes: [VaultChange], with writes: [StoreWrite] = []) throws(VaultFailure) {
    var draft = VaultDraft(self, writes: writes)
    for change in changes { try draft.draw(change) }
    let chain = try draft.draw(audit: changes.compactMap(\.auditEntry))
    let isCounted = owesCount || !writes.isEmpty || changes.contains(where: \.isCounted)
    let ledger = try draft.settle(ledger(), owing: owedMarks, isCounted: isCounted)
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

  /// Moves the log into the file and empties it; false if a reader prevents it. Tried again at the next start.
  package func truncateLog() throws(VaultFailure) -> Bool {
    try onStore { () throws(StoreFailure) in try store.truncateLog() }
  }

  /// Can the next commit be written? Asked before a token is spent.
  package func checkWritable() throws(VaultFailure) {
    // A staged answer is bounded by 1 MiB; ordinary ones stay under this.
    try onStore { () throws(StoreFailure) in try store.checkWritable(bytes: 64 << 10) }
  }

  // MARK: another root key

  /// From here on everything is sealed under `keys`; what is still under `previous` is read with them.
  package func adopt(_ keys: VaultKeys, previous: VaultKeys?) {
    seals = RecordSeals(databaseID: store.databaseID, keys: keys, previousKeys: previous)
    forget(Array(partitions.keys))
    knownAuditChain = nil
  }

  package func onStore<Result>(_ body: () throws(StoreFailure) -> Result) throws(VaultFailure) -> Result {
    do {
      return try body()
    } catch {
      throw .store(error)
    }
  }
}
