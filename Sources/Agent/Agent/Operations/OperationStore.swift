package import AgentCore
package import AgentModel
package import AgentPorts
package import AgentVault
internal import JSONRPC
internal import SecretJSON
internal import Secrets

extension OpenVault {
  package var operations: OperationStore { OperationStore(vault: self) }
}

/// The queued operations of accounts, sealed under their data keys (docs/operations.md, Storage).
package struct OperationStore {
  package let vault: OpenVault

  // MARK: queries

  /// The account, if its data may be read now.
  package func readable(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    let profile = try vault.directory.profile(selector)
    // What an erased account left says nothing of the person.
    return profile.signInStatus == .signedOutHard ? profile : try vault.secrets.readable(.id(profile.id))
  }

  /// The operations of the account in their order. Empty for one that was never in the queue.
  func all(of profile: AccountProfile) throws(AgentFailure) -> [Operation] {
    if let known = vault.operationLists[profile.partition] { return known }
    let found = try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) -> [Operation] in
      var found: [Operation] = []
      for (id, plain) in try records.readAll(profile.partition, .operation) {
        guard let operation = Operation(plain, id: id) else { throw .integrity }
        found.append(operation)
      }
      return found
    }
    let sorted = found.sorted { $0.sequence < $1.sequence }
    vault.remember([.operations(profile.partition, sorted)])
    return sorted
  }

  func operation(_ name: String, of profile: AccountProfile) throws(AgentFailure) -> Operation {
    guard let found = try all(of: profile).first(where: { $0.name == name }) else {
      throw .operationNotFound(profile.id)
    }
    return found
  }

  package func told(_ name: String, of selector: AccountSelector) throws(AgentFailure) -> ToldOperation {
    let profile = try readable(selector)
    return try told(operation(name, of: profile), of: profile)
  }

  /// With its content and its answer, and its moments by the wall clock.
  func told(_ operation: Operation, of profile: AccountProfile) throws(AgentFailure) -> ToldOperation {
    let (content, answer) = try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
      (
        try records.read(profile.partition, .operationContent, id: operation.id),
        operation.hasAnswer ? try records.read(profile.partition, .operationAnswer, id: operation.id) : nil
      )
    }
    func wall(_ moment: Timestamp?) -> Timestamp? { moment.map { vault.time.wall($0, of: profile.provider) } }
    return ToldOperation(
      operation: operation, content: content.flatMap { OperationContent($0) },
      answer: answer.flatMap { OperationAnswer($0) }, enqueuedAt: wall(operation.enqueuedAt)!,
      updatedAt: wall(operation.updatedAt)!, nextAttemptAt: wall(operation.machine.nextAttemptAt),
      lastErrorAt: wall(operation.lastError?.at))
  }

  /// The operations of an account, as many as one answer holds. `more`: others follow the last one.
  package func page(
    of selector: AccountSelector, _ status: OperationMachine.Status?, after name: String?, limit: Int
  ) throws(AgentFailure) -> (AccountID, [ToldOperation], more: Bool) {
    let profile = try readable(selector)
    let first = try name.map { (name) throws(AgentFailure) in try operation(name, of: profile).sequence } ?? .min
    let fitting = try all(of: profile).filter { $0.sequence > first && (status == nil || $0.machine.status == status) }
    var page: [ToldOperation] = []
    var bytes = 0
    for operation in fitting {
      guard page.count < limit, page.isEmpty || bytes + operation.bytes <= Self.mostPageBytes else {
        return (profile.id, page, more: true)
      }
      page.append(try told(operation, of: profile))
      bytes += operation.bytes + Self.headerBytes
    }
    return (profile.id, page, more: false)
  }

  private static let mostPageBytes = 1 << 20
  /// What an operation takes beside its content, as a round number.
  private static let headerBytes = 1 << 10

  // MARK: enqueueing

  /// The account, if an operation of it can be stored.
  package func enqueueable(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    let profile = try vault.directory.signedIn(selector)
    return try vault.secrets.readable(.id(profile.id))
  }

  /// The operation that the same client enqueued before with the same key; nil if there is none. Throws if the key is
  /// another one's.
  func repeated(_ enqueued: EnqueuedOperation, of profile: AccountProfile) throws(AgentFailure) -> Operation? {
    guard let key = enqueued.idempotencyKey else { return nil }
    guard let known = try all(of: profile).last(where: { $0.idempotencyKey == key }) else { return nil }
    guard known.digest == enqueued.digest else {
      throw .invalidParameter("/idempotencyKey", expected: "a key that no other operation of the account has")
    }
    return known
  }

  /// `isOffered`: a client may claim it at once.
  func enqueue(
    _ enqueued: EnqueuedOperation, of id: AccountID, by decision: RecordedDecision, isOffered: Bool
  ) throws(AgentFailure) -> ChangeSet<Operation> {
    let profile = try enqueueable(.id(id))
    if let known = try repeated(enqueued, of: profile) { return .unchanged(known) }
    let before = try all(of: profile)
    let content = enqueued.content.record
    let bytes = content.count + Self.headerBytes
    let others = vault.operationTallies.reduce(0) { $0 + ($1.key == id ? 0 : $1.value.bytes) }
    guard
      let leaving = OperationBounds.leaving(
        before.map { ($0.machine, $0.bytes) }, for: bytes, others: others)
    else { throw .queueFull(id) }
    let now = vault.time.now(for: profile.provider)
    let number = vault.entropy.bytes(Operation.idBytes)
    var operation = Operation(
      id: number, account: id, sequence: (before.last?.sequence ?? 0) + 1, enqueued, decision: decision,
      epoch: profile.epoch,
      key: enqueued.idempotencyKey ?? Base32.encode(vault.entropy.bytes(Operation.idBytes)), at: now,
      // Counted from now, so that a wall clock that is set later changes nothing.
      expiresAt: enqueued.expiresAt.map { now + ($0 - vault.clock.wall()) }, bytes: bytes)
    if isOffered { _ = operation.machine.offered() }
    var after = before
    for place in leaving.reversed() { after.remove(at: place) }
    after.append(operation)
    let removed = leaving.flatMap { removing(before[$0], of: profile) }
    return ChangeSet(
      removed + [
        .put(profile.partition, .operation, id: number, operation.record),
        .put(profile.partition, .operationContent, id: number, content), tally(after, of: id).record(of: id),
      ], memory: memory(after, of: profile), of: id, result: operation)
  }

  // MARK: changes

  /// Changes one operation and tells its new status. Nil without a commit if it is gone, or if `body` returns no effect.
  func change(
    _ number: [UInt8], of id: AccountID, answer: OperationAnswer? = nil,
    _ body: (inout Operation) -> [OperationMachine.Effect]
  ) throws(AgentFailure) -> ChangeSet<Operation?> {
    let changed = try changeAll(of: id, answer: answer) { $0.id == number ? body(&$0) : [] }
    return ChangeSet(
      changed.records, memory: changed.memory, of: id, erasing: changed.erases, result: { changed.result($0).first })
  }

  /// Changes the operations of an account, in one transaction.
  func changeAll(
    of id: AccountID, answer: OperationAnswer? = nil, endingDoubt: Bool = false,
    _ body: (inout Operation) -> [OperationMachine.Effect]
  ) throws(AgentFailure) -> ChangeSet<[Operation]> {
    guard let profile = vault.directory.profiles[id] else { return .unchanged([]) }
    let before = try all(of: profile)
    let now = vault.time.now(for: profile.provider)
    var after: [Operation] = []
    var changed: [(operation: Operation, previous: OperationMachine.Status)] = []
    var records: [VaultChange] = []
    for known in before {
      var operation = known
      guard !body(&operation).isEmpty else {
        after.append(known)
        continue
      }
      operation.updatedAt = now
      if let answer {
        let record = answer.record
        operation.hasAnswer = true
        let replaced = try answerBytes(of: known, in: profile)
        operation.bytes += record.count - replaced
        records.append(.put(profile.partition, .operationAnswer, id: operation.id, record))
      }
      if case .cancelled = operation.machine.state {
        records += removing(known, of: profile)
      } else {
        records.append(.put(profile.partition, .operation, id: operation.id, operation.record))
        after.append(operation)
      }
      changed.append((operation, known.machine.status))
    }
    var tally = tally(after, of: id)
    if endingDoubt { tally.isDoubtful = false }
    guard !changed.isEmpty || vault.operationTallies[id] ?? OperationTally(pending: 0, bytes: 0) != tally else {
      return .unchanged([])
    }
    if vault.operationTallies[id] != tally { records.append(tally.record(of: id)) }
    let events = vault.tables.events
    return ChangeSet(
      records, memory: [.operations(profile.partition, after), .operationTally(id, tally)], of: id,
      erasing: after.count < before.count ? .values : nil
    ) { _ in
      for (operation, previous) in changed where operation.machine.status != previous {
        events.publish(
          .operationStatusChanged(operation.name, operation.machine.status, previous: previous), account: id)
      }
      return changed.map(\.operation)
    }
  }

  /// What a process did that has ended, or before the vault was locked: requests are in doubt, claims are over.
  func settleInterrupted(
    of id: AccountID, inFlight: Set<[UInt8]>, claims: Set<OperationMachine.Claim>
  ) throws(AgentFailure) -> ChangeSet<[Operation]> {
    guard let profile = try? enqueueable(.id(id)) else { return .unchanged([]) }
    let now = vault.time.now(for: profile.provider)
    let isDoubtful = vault.operationTallies[id]?.isDoubtful ?? false
    return try changeAll(of: id, endingDoubt: true) { operation in
      if isDoubtful { return operation.machine.distrusted() }
      switch operation.machine.state {
      case .sending where !inFlight.contains(operation.id): return operation.machine.interrupted(at: now)
      case .claimed(let claim) where !claims.contains(claim): return operation.machine.interrupted(at: now)
      default: return []
      }
    }
  }

  /// The size of the answer that a new one replaces.
  private func answerBytes(of operation: Operation, in profile: AccountProfile) throws(AgentFailure) -> Int {
    guard operation.hasAnswer else { return 0 }
    return try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
      try records.read(profile.partition, .operationAnswer, id: operation.id)?.count ?? 0
    }
  }

  private func removing(_ operation: Operation, of profile: AccountProfile) -> [VaultChange] {
    [
      .delete(profile.partition, .operation, id: operation.id),
      .delete(profile.partition, .operationContent, id: operation.id),
    ]
      + (operation.hasAnswer ? [.delete(profile.partition, .operationAnswer, id: operation.id)] : [])
  }

  private func tally(_ operations: [Operation], of id: AccountID) -> OperationTally {
    OperationTally(
      pending: operations.count { $0.machine.isPending }, bytes: operations.reduce(0) { $0 + $1.bytes },
      isDoubtful: vault.operationTallies[id]?.isDoubtful ?? false)
  }

  private func memory(_ operations: [Operation], of profile: AccountProfile) -> [MemoryChange] {
    [.operations(profile.partition, operations), .operationTally(profile.id, tally(operations, of: profile.id))]
  }

  // MARK: accounts that go

  /// For the transaction that erases an account. What is told of each that was not delivered, and what stays of them in
  /// the new partition; none stays of an account that is forgotten.
  func orphaning(_ profile: AccountProfile, into partition: PartitionID?) -> OrphanedOperations {
    // Under the PIN they can't be read any more, and go without a word.
    let before = (try? all(of: profile)) ?? []
    let now = vault.time.now(for: profile.provider)
    let orphans = before.compactMap { known in known.erased(at: now).map { (known, $0) } }
    let staying = partition == nil ? [] : orphans.map(\.1) + before.filter { $0.machine.status == .orphaned }
    let tally = staying.isEmpty ? nil : OperationTally(pending: 0, bytes: 0)
    var records =
      partition.map { partition in
        staying.map { VaultChange.put(partition, .operation, id: $0.id, $0.record) }
      } ?? []
    if vault.operationTallies[profile.id] != nil || tally != nil {
      records.append(
        tally?.record(of: profile.id) ?? .delete(.vault, .operationTally, id: OperationTally.place(of: profile.id)))
    }
    return OrphanedOperations(
      told: orphans.map { ($0.0.name, $0.0.machine.status) }, records: records,
      memory: [.operations(profile.partition, nil), .operationTally(profile.id, tally)])
  }
}
