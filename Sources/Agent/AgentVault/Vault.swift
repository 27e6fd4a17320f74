package import AgentCore
package import AgentModel
package import AgentPorts
package import Secrets

/// Seals the agent's records and opens them. Owned by one actor; every call is synchronous, and every write is durable
/// unless its caller asks for less (`StoreDurability`).
///
/// Accounts are separated by keys, not by a WHERE clause: each incarnation has its own token key and data key, wrapped
/// by the wrap key. A record's additional data names its place, so that a moved record does not open.
///
/// Three checks detect an old row: the head of a partition holds the generation of each of its records, the ledger that
/// of each head, and the anchor outside the store the ledger's last count.
package final class Vault {
  package let store: any Store
  package let kinds: DeclaredKinds
  private(set) var seals: RecordSeals
  /// Nil before the first read, and after a failed commit.
  var auditMemory: AuditMemory?
  let auditBounds: [AuditRing: AuditChain.Bound]
  package internal(set) var repeats: PendingRepeats
  /// Compares the ledger's count with the anchor outside the store.
  package let rollbackGuard: RollbackGuard
  private var partitions = OpenPartitions()
  private var knownLedger: VaultLedger?
  /// The next change raises the ledger's count, also if its kind does not.
  private var owesCount = false
  private var owedMarks: Set<Int> = []

  package struct Partition {
    package var head: VaultHead
    /// The epoch of the root key of its records; records under the data key keep the epoch in which they were written.
    package var epoch: UInt32
    /// Nil for the vault's own records, which have no incarnation.
    package var keys: AccountKeys?

    package init(head: VaultHead, epoch: UInt32, keys: AccountKeys? = nil) {
      self.head = head
      self.epoch = epoch
      self.keys = keys
    }
  }

  package init(
    store: any Store, kinds: DeclaredKinds, root: SealingKey, epoch: UInt32, previous: VaultKeys? = nil,
    rollbackGuard: RollbackGuard = RollbackGuard(),
    auditBounds: [AuditRing: AuditChain.Bound] = [.security: .security, .decisions: .decisions],
    repeatsBegan: @escaping @Sendable () -> Void = {}
  ) {
    self.store = store
    self.kinds = kinds
    repeats = PendingRepeats(
      RepeatCounter(journal: store.repeatJournal, databaseID: store.databaseID, began: repeatsBegan))
    seals = RecordSeals(
      databaseID: store.databaseID, keys: VaultKeys(root: root, epoch: epoch), previousKeys: previous)
    self.rollbackGuard = rollbackGuard
    self.auditBounds = auditBounds
  }

  package var keys: VaultKeys { seals.keys }

  // MARK: reading

  package func read(_ partition: PartitionID, _ kind: DeclaredKind, id: [UInt8] = []) throws(VaultFailure) -> Secret? {
    let opened = try open(partition)
    // A row that the head does not name was inserted from outside.
    guard let generation = opened.head.generations[.init(kind: kind, id: id)] else { return nil }
    let key = RecordKey(partition: partition, kind: kind, id: id)
    guard let row = try onStore({ () throws(StoreFailure) in try store.record(key) }), row.generation == generation
    else { throw .integrity }
    return try seals.open(row, by: seals.key(of: kind, in: partition, opened))
  }

  package func readAll(_ partition: PartitionID, _ kind: DeclaredKind) throws(VaultFailure) -> [(
    id: [UInt8], plain: Secret
  )] {
    let opened = try open(partition)
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: partition, kind: kind.number) }
    var found: [(id: [UInt8], plain: Secret)] = []
    for row in rows {
      guard opened.head.generations[.init(kind: kind, id: row.key.id)] == row.generation else { throw .integrity }
      found.append((row.key.id, try seals.open(row, by: seals.key(of: kind, in: partition, opened))))
    }
    let named = opened.head.generations.keys.count { $0.kind == kind.number }
    guard found.count == named else { throw .integrity }
    return found
  }

  /// Opens a partition and compares its rows with its head, and its head with the ledger. Once is enough while it is
  /// among the open ones: only this vault writes to it.
  package func open(_ partition: PartitionID) throws(VaultFailure) -> Partition {
    if let known = partitions[partition] { return known }
    let rows = try onStore { () throws(StoreFailure) in try store.records(in: partition) }
    guard !rows.isEmpty else {
      // An empty vault, or an account's partition before its first write.
      if partition != .vault, try ledger().generation(of: partition) != nil { throw .integrity }
      return Partition(head: VaultHead(), epoch: keys.epoch, keys: nil)
    }
    guard let headRow = rows.first(where: { $0.key.kind == DeclaredKind.head.number && $0.key.id.isEmpty }),
      let head = VaultHead(try seals.open(head: headRow), generation: headRow.generation),
      head.strays(among: rows).allSatisfy({ partition == .vault && kinds[$0.kind].answersForItself })
    else { throw .integrity }
    var opened = Partition(head: head, epoch: headRow.keyEpoch, keys: nil)
    if partition != .vault {
      guard try ledger().generation(of: partition) == head.generation,
        let row = rows.first(where: { $0.key.kind == DeclaredKind.accountKeys.number })
      else { throw .integrity }
      let plain = try seals.open(row, by: seals.key(of: .accountKeys, in: partition, opened))
      guard let keys = AccountKeys(plain) else { throw .integrity }
      opened.keys = keys
    }
    partitions[partition] = opened
    return opened
  }

  // MARK: the ledger

  package func ledger() throws(VaultFailure) -> VaultLedger {
    if let knownLedger { return knownLedger }
    let (ledger, damaged) = try LedgerReader(vault: self).read()
    owedMarks.formUnion(damaged)
    knownLedger = ledger
    return ledger
  }

  /// False once another copy of this store has gone on: a refresh token of this one may be spent.
  package func isNewest() throws(VaultFailure) -> Bool {
    let sequence = try ledger().sequence
    return rollbackGuard.isNewest(store.databaseID, at: sequence)
  }

  /// The next change gets a count above the anchor's, which a later copy of this store reached. It closes partitions
  /// for good.
  package func pass(_ anchored: UInt64, closing closed: Set<PartitionID>) throws(VaultFailure) {
    var ledger = try ledger()
    ledger.pass(anchored)
    for partition in closed { owedMarks.insert(ledger.close(partition)) }
    forget(closed)
    knownLedger = ledger
    owesCount = true
  }

  // MARK: writing

  /// Applies all changes in one durable transaction, or none, together with writes that are no records. Memory changes
  /// only after the commit.
  ///
  /// - Parameter durability: changes that are counted or logged are synced in any case: the anchor and the journal of
  ///   repeats must never be ahead of the disk.
  package func apply(
    _ changes: [VaultChange], with writes: [StoreWrite] = [], durability: StoreDurability = .disk,
    room: StoreRoom = .reserve
  ) throws(VaultFailure) {
    var draft = VaultDraft(self, writes: writes)
    for change in changes { try draft.draw(change) }
    let entries = changes.compactMap(\.auditEntry)
    let counted = entries.isEmpty && changes.repeatCounting == nil ? nil : repeats.take(changes.repeatCounting)
    var logged: AuditMemory?
    do throws(VaultFailure) {
      if let counted { logged = try draft.draw(audit: entries, after: counted) }
    } catch {
      if let counted { repeats.owe(counted) }
      throw error
    }
    // The counts of an overtaken store stand still: above the anchor's it would look like the newest copy.
    let isCounted =
      !rollbackGuard.isOvertaken && (owesCount || !writes.isEmpty || changes.contains(where: \.isCounted))
    let ledger: VaultLedger
    do throws(VaultFailure) {
      ledger = try draft.settle(self.ledger(), owing: owedMarks, isCounted: isCounted)
      let batch = draft.writes
      let isSynced = isCounted || counted != nil
      try onStore { () throws(StoreFailure) in try store.commit(batch, isSynced ? .disk : durability, room) }
    } catch {
      // The batch may have been committed all the same: read the heads again.
      forget(draft.touched.keys)
      forget(draft.destroyed)
      auditMemory = nil
      if let counted { repeats.owe(counted) }
      throw error
    }
    if let logged { auditMemory = logged }
    if let counted, let logged { repeats.settle(counted, in: logged, by: keys) }
    for (partition, state) in draft.touched { partitions[partition] = state }
    for partition in draft.destroyed { partitions[partition] = nil }
    let isNewer = ledger.sequence != knownLedger?.sequence
    let isFirstAccount = knownLedger?.count == 0 && ledger.count > 0
    knownLedger = ledger
    owesCount = false
    owedMarks = []
    if writes.contains(where: \.changesKeySlots), let slots = try? store.keySlots() {
      rollbackGuard.slotsChanged(to: Set(slots.map(\.protection)), store.databaseID)
    }
    if isNewer { rollbackGuard.advance(store.databaseID, to: ledger.sequence) }
    // A short first session would leave keys and account in the log alone.
    if isFirstAccount || writes.contains(where: \.changesKeySlots) { store.checkpoint() }
  }

  private func forget(_ changed: some Sequence<PartitionID>) {
    for partition in changed { partitions[partition] = nil }
    knownLedger = nil
  }

  /// Removes every byte that deleted records left in the files; false if another process prevents it.
  package func eraseDeleted() throws(VaultFailure) -> Bool {
    try onStore { () throws(StoreFailure) in try store.eraseDeleted() }
  }

  /// Checks that the next commit can be written, before a refresh token is sent.
  package func checkWritable() throws(VaultFailure) {
    // A staged answer is bounded by 1 MiB; ordinary ones stay under this.
    try onStore { () throws(StoreFailure) in try store.checkWritable(bytes: 64 << 10) }
  }

  // MARK: rotating the root key

  /// Seals new records under `keys` from now on; records under `previous` can still be opened.
  package func adopt(_ keys: VaultKeys, previous: VaultKeys?) {
    seals = RecordSeals(databaseID: store.databaseID, keys: keys, previousKeys: previous)
    forget(partitions.all)
    auditMemory = nil
  }

  package func onStore<Result>(_ body: () throws(StoreFailure) -> Result) throws(VaultFailure) -> Result {
    do {
      return try body()
    } catch {
      throw .store(error)
    }
  }
}
