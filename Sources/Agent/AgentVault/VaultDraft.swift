internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// The rows for a list of changes before their commit, and the vault's memory after it.
struct VaultDraft {
  private let vault: Vault
  private let seals: RecordSeals
  private(set) var writes: [StoreWrite]
  private(set) var touched: [PartitionID: Vault.Partition] = [:]
  private(set) var destroyed: Set<PartitionID> = []

  init(_ vault: Vault, writes: [StoreWrite]) {
    self.vault = vault
    seals = vault.seals
    self.writes = writes
  }

  // MARK: changes

  mutating func draw(_ change: VaultChange) throws(VaultFailure) {
    switch change {
    case .put(let partition, let kind, let id, let plain):
      // A rotation of the root key would look for its traits in vain.
      guard vault.kinds.lists(kind.number) else { fatalError("no kind \(kind.number.rawValue) was listed") }
      var state = try state(of: partition)
      try put(plain, kind, id, partition, &state)
      touched[partition] = state
    case .delete(let partition, let kind, let id):
      var state = try state(of: partition)
      state.head.generations[.init(kind: kind, id: id)] = nil
      writes.append(.delete(RecordKey(partition: partition, kind: kind, id: id)))
      touched[partition] = state
    case .destroy(let partition):
      touched[partition] = nil
      destroyed.insert(partition)
      writes.append(.deletePartition(partition))
    case .reseal(let partition): touched[partition] = try state(of: partition)
    // All audit entries follow at the end.
    case .audit, .repeats, .claim: break
    case .lockData(let partition): try changeKeys(of: partition) { $0.data = nil }
    case .unlockData(let partition, let key): try changeKeys(of: partition) { $0.data = key }
    case .renewData(let partition):
      try changeKeys(of: partition) { $0.data = SealingKey.random() }
      try deleteData(of: partition)
    }
  }

  /// Adds audit entries, and the repeats that were counted before them. Returns the log's memory after the commit.
  mutating func draw(audit entries: [AuditAppend], after repeats: CountedRepeats) throws(VaultFailure) -> AuditMemory {
    let before = try vault.audit.chains()
    var memory = try vault.audit.append(entries, after: repeats.tallies(since: before.decisions.batch), to: &writes)
    repeats.settle(&memory.chains.decisions)
    var state = try state(of: .vault)
    for ring in AuditRing.allCases where memory.chains[ring] != before[ring] {
      try put(memory.chains[ring].record, ring.chainKind, [], .vault, &state)
    }
    touched[.vault] = state
    return memory
  }

  private mutating func deleteData(of partition: PartitionID) throws(VaultFailure) {
    var state = try state(of: partition)
    let sealed = state.head.generations.keys.filter {
      vault.kinds[$0.kind].keyClass == .data || $0.kind == DeclaredKind.keptData.number
    }
    for entry in sealed.sorted(by: { ($0.kind, $0.id.description) < ($1.kind, $1.id.description) }) {
      state.head.generations[entry] = nil
      writes.append(.delete(RecordKey(partition: partition, kind: entry.kind, id: entry.id)))
    }
    touched[partition] = state
  }

  private mutating func changeKeys(
    of partition: PartitionID, _ body: (inout AccountKeys) -> Void
  ) throws(VaultFailure) {
    var state = try state(of: partition)
    guard var keys = state.keys else { throw .integrity }
    body(&keys)
    state.keys = keys
    try put(keys.plain, .accountKeys, [], partition, &state)
    touched[partition] = state
  }

  // MARK: heads

  /// Adds the heads of the touched partitions and the ledger. Returns the ledger after the commit.
  mutating func settle(
    _ ledger: VaultLedger, owing owedMarks: Set<Int>, isCounted: Bool
  ) throws(VaultFailure) -> VaultLedger {
    var ledger = ledger
    let isFirst = try vault.open(.vault).head.generations[.init(kind: .sequence, id: [])] == nil
    var marks = owedMarks
    for partition in touched.keys.sorted() where partition != .vault {
      marks.insert(ledger.set(raiseHead(of: partition), of: partition))
    }
    for partition in destroyed where touched[partition] == nil {
      marks.insert(ledger.set(nil, of: partition))
    }
    if isCounted || isFirst { ledger.advance() }
    if !marks.isEmpty || isCounted {
      var state = try state(of: .vault)
      if isCounted || isFirst { try put(ledger.sequenceRecord, .sequence, [], .vault, &state) }
      for mark in marks.sorted() {
        try put(ledger.record(of: mark), .mark, [UInt8(mark)], .vault, &state)
      }
      touched[.vault] = state
    }
    if touched[.vault] != nil { _ = raiseHead(of: .vault) }
    return ledger
  }

  private mutating func raiseHead(of partition: PartitionID) -> UInt64 {
    touched[partition]!.head.generation += 1
    let head = touched[partition]!.head
    writes.append(.put(seals.seal(head: head, of: partition)))
    return head.generation
  }

  // MARK: partitions

  /// The state of a partition in the draft. A new partition gets its keys in the same transaction. A partition under
  /// the previous root key is sealed again as a whole, so that no partition is ever under two root keys.
  private mutating func state(of partition: PartitionID) throws(VaultFailure) -> Vault.Partition {
    if let known = touched[partition] { return known }
    var state = try vault.open(partition)
    if state.epoch != seals.keys.epoch { return try reseal(partition, state) }
    guard partition != .vault, state.keys == nil else { return state }
    let keys = AccountKeys(token: SealingKey.random(), data: SealingKey.random())
    state.keys = keys
    try put(keys.plain, .accountKeys, [], partition, &state)
    return state
  }

  private mutating func put(
    _ plain: Secret, _ kind: DeclaredKind, _ id: [UInt8], _ partition: PartitionID, _ state: inout Vault.Partition
  ) throws(VaultFailure) {
    // Generations never repeat, also after a deletion: the head's own generation is above all that it assigned.
    let generation = state.head.generation + 1
    state.head.generations[VaultHead.Entry(kind: kind, id: id)] = generation
    let key = try seals.key(of: kind, in: partition, state)
    writes.append(
      .put(
        seals.seal(
          plain, RecordKey(partition: partition, kind: kind, id: id), generation: generation, by: key)))
  }

  /// Seals every record of a partition under the current keys, and renews the account's own keys: a holder of the old
  /// root key had those too. The data key stays where a wrapping of it hangs on the person's PIN.
  private mutating func reseal(
    _ partition: PartitionID, _ old: Vault.Partition
  ) throws(VaultFailure) -> Vault.Partition {
    let rows = try vault.onStore { () throws(StoreFailure) in try vault.store.records(in: partition) }
    let pepper = partition == .vault ? nil : try vault.pepper(for: partition)
    let isDataKept =
      old.keys?.data == nil
      || old.head.generations.keys.contains { vault.kinds[$0.kind].traits.contains(.wrapsDataKey) }
    var state = old
    state.epoch = seals.keys.epoch
    if let keys = old.keys {
      let new = AccountKeys(token: SealingKey.random(), data: isDataKept ? keys.data : SealingKey.random())
      state.keys = new
      try put(new.plain, .accountKeys, [], partition, &state)
    }
    for row in rows {
      let kind = vault.kinds[row.key.kind]
      if kind == .head || kind == .accountKeys || kind == .pepper || isDataKept && kind.keyClass == .data { continue }
      // The head was checked when the partition was opened; an old row may have been put back since.
      guard old.head.generations[.init(kind: row.key.kind, id: row.key.id)] == row.generation,
        let plain = try? seals.open(row, by: seals.key(of: kind, in: partition, old))
      else {
        // A damaged record of an independent kind stays damaged; any other damage fails the rotation of this partition.
        if partition == .vault, kind.answersForItself { continue }
        throw .integrity
      }
      try put(plain, kind, row.key.id, partition, &state)
    }
    if let pepper { try put(pepper.secret, .pepper, [], partition, &state) }
    return state
  }
}
