package import AgentCore
package import AgentModel
package import AgentPorts
package import AgentStore
internal import AgentVault
internal import JSONRPC
internal import SecretJSON
internal import Secrets

extension OpenVault {
  package var operations: OperationStore { OperationStore(vault: self) }
}

/// The queued operations of accounts, sealed under their data keys (docs/operations.md, Storage).
package struct OperationStore {
  let vault: OpenVault

  // MARK: queries

  /// The account, if its data may be read now.
  package func readable(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    let profile = try vault.directory.profile(selector)
    // What an erased account left says nothing of the person.
    return profile.signInStatus == .signedOutHard ? profile : try vault.programSecrets.readable(.id(profile.id))
  }

  /// The operations of the account in their order. Empty for one that was never in the queue.
  package func all(of profile: AccountProfile) throws(AgentFailure) -> QueuedOperations {
    if let known = vault.operationLists[profile.partition] { return known }
    let found = try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) -> [Operation] in
      var found: [Operation] = []
      for (id, plain) in try records.readAll(profile.partition, .operation) {
        guard let operation = Operation(plain, id: id) else { throw .integrity }
        found.append(operation)
      }
      return found
    }
    let sorted = QueuedOperations(found.sorted { $0.sequence < $1.sequence })
    vault[OperationTable.self].remember(sorted, of: profile.partition)
    return sorted
  }

  package func operation(_ name: String, of profile: AccountProfile) throws(AgentFailure) -> Operation {
    let all = try all(of: profile)
    guard let place = all.place(named: name) else { throw .operationNotFound(profile.id) }
    return all[place]
  }

  package func told(
    _ name: String, of selector: AccountSelector, heldUpBy queue: OperationQueue? = nil
  ) throws(AgentFailure) -> ToldOperation {
    let profile = try readable(selector)
    return try told(operation(name, of: profile), of: profile, heldUpBy: queue)
  }

  /// With its content and its answer. What holds it up now is its last error where that
  /// is later.
  func told(
    _ operation: Operation, of profile: AccountProfile, heldUpBy queue: OperationQueue? = nil
  ) throws(AgentFailure) -> ToldOperation {
    var operation = operation
    if [.queued, .unknown].contains(operation.machine.status), operation.machine.isPending,
      let holdUp = queue?.holdUp(of: operation.caller), operation.lastError.map({ $0.at < holdUp.at }) ?? true
    {
      operation.lastError = LastFailure(kind: holdUp.kind, at: holdUp.at, reason: holdUp.reason)
    }
    let (content, answer) = try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
      (
        try records.read(profile.partition, .operationContent, id: operation.id),
        operation.hasAnswer ? try records.read(profile.partition, .operationAnswer, id: operation.id) : nil
      )
    }
    return ToldOperation(
      operation: operation, content: content.flatMap { OperationContent($0) },
      answer: answer.flatMap { OperationAnswer($0) }, enqueuedAt: operation.enqueuedAt,
      updatedAt: operation.updatedAt, nextAttemptAt: operation.machine.nextAttemptAt,
      lastErrorAt: operation.lastError?.at)
  }

  /// The operations of an account, as many as one answer holds. `more`: others follow the last one.
  package func page(
    of selector: AccountSelector, _ status: OperationMachine.Status?, after name: String?, limit: Int,
    heldUpBy queue: OperationQueue? = nil
  ) throws(AgentFailure) -> (AccountID, [ToldOperation], more: Bool) {
    let profile = try readable(selector)
    let first = try name.map { (name) throws(AgentFailure) in try place(of: name, in: profile) } ?? .min
    let fitting = try all(of: profile).filter { $0.sequence > first && (status == nil || $0.machine.status == status) }
    var page: [ToldOperation] = []
    var bytes = 0
    for operation in fitting {
      guard page.count < limit, page.isEmpty || bytes + operation.bytes <= Self.mostPageBytes else {
        return (profile.id, page, more: true)
      }
      page.append(try told(operation, of: profile, heldUpBy: queue))
      bytes += operation.bytes + Self.headerBytes
    }
    return (profile.id, page, more: false)
  }

  /// The place of an operation, also of one that has left the list since a caller was told of it.
  private func place(of name: String, in profile: AccountProfile) throws(AgentFailure) -> Int64 {
    if let known = try all(of: profile).first(where: { $0.name == name }) { return known.sequence }
    guard let place = OperationName.sequence(in: name, of: profile.partition) else {
      throw .operationNotFound(profile.id)
    }
    return place
  }

  private static let mostPageBytes = 1 << 20
  /// What an operation takes beside its content, as a round number.
  static let headerBytes = 1 << 10

  // MARK: enqueueing

  /// The account, if an operation of it can be stored.
  package func enqueueable(_ selector: AccountSelector) throws(AgentFailure) -> AccountProfile {
    let profile = try vault.directory.signedIn(selector)
    return try vault.programSecrets.readable(.id(profile.id))
  }

  /// The operation that the same caller enqueued before with the same key; nil if there is none. Throws if that is
  /// another request. Keys of other callers count for nothing: a limited one could read what they are for.
  package func repeated(_ enqueued: EnqueuedOperation, of profile: AccountProfile) throws(AgentFailure) -> Operation? {
    guard let key = enqueued.idempotencyKey else { return nil }
    guard let known = try all(of: profile).last(where: { $0.idempotencyKey == key && $0.caller == enqueued.caller })
    else { return nil }
    guard known.digest == enqueued.digest else {
      throw .invalidParameter("/idempotencyKey", expected: "a key that no other operation of the caller has")
    }
    return known
  }

  /// `isOffered`: a client may claim it at once.
  package func enqueue(
    _ enqueued: EnqueuedOperation, of id: AccountID, by decision: RecordedDecision, isOffered: Bool
  ) throws(AgentFailure) -> ChangeSet<Operation> {
    let profile = try enqueueable(.id(id))
    if let known = try repeated(enqueued, of: profile) { return .unchanged(known) }
    let before = try all(of: profile)
    let content = enqueued.content.record
    let bytes = content.count + Self.headerBytes
    guard
      let leaving = OperationBounds.leaving(
        before.boundsEntries, for: bytes, isLimited: enqueued.caller != .owner, others: bytesOfOthers(id))
    else { throw .queueFull(id) }
    let now = vault.time.now(for: profile.provider)
    // Never that of an operation that has left the list.
    let sequence = max(before.last?.sequence ?? 0, vault.operationTallies[id]?.lastSequence ?? 0) + 1
    let number = OperationName.id(at: sequence, of: profile.partition, random: vault.entropy.bytes(4))
    var operation = Operation(
      id: number, account: id, sequence: sequence, enqueued, decision: decision, epoch: profile.epoch,
      key: enqueued.idempotencyKey ?? Base32.encode(vault.entropy.bytes(16)), at: now,
      // The client's clock is this machine's. Told and counted on the provider's, so that a clock that is set later
      // changes nothing.
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
      ], memory: memory(after, of: profile), of: id, result: operation
    ).onlyIntoFreeRoom
  }

  // MARK: accounts that go

  /// For the transaction that erases an account, or renews a data key that was lost with its PIN. What is told of each
  /// that was not delivered before, and what stays of them in `partition`; none stays of an account that is forgotten.
  package func orphaning(_ profile: AccountProfile, into partition: PartitionID?) -> OrphanedOperations {
    // Under a PIN only their traces can be read.
    let before = (try? all(of: profile)) ?? QueuedOperations(vault.operationTraces.operations(of: profile.id))
    let now = vault.time.now(for: profile.provider)
    // What is known of a request counts first, although it could not be stored yet: an answer that came before the
    // sign-out has ended its operation.
    let unsettled = vault.tables.operationAttempts.unsettled(of: profile.id)
    let settled = before.map { known in
      var operation = known
      if let outcome = unsettled[known.id] { _ = operation.settle(outcome, at: now, jitter: 0) }
      return operation
    }
    let ended = zip(before, settled).filter { $0.0.machine.status != $0.1.machine.status }
    let orphans = settled.compactMap { known in known.erased(at: now).map { (known, $0) } }
    let staying = partition == nil ? [] : orphans.map(\.1) + before.filter { $0.machine.status == .orphaned }
    let last = max(before.last?.sequence ?? 0, vault.operationTallies[profile.id]?.lastSequence ?? 0)
    let tally = staying.isEmpty ? nil : OperationTally(pending: 0, bytes: 0, lastSequence: last)
    var records =
      partition.map { partition in
        staying.map { VaultChange.put(partition, .operation, id: $0.id, $0.record) }
      } ?? []
    if vault.operationTallies[profile.id] != nil || tally != nil {
      records.append(
        tally?.record(of: profile.id) ?? .delete(.vault, .operationTally, id: OperationTally.place(of: profile.id)))
    }
    records += vault.operationTraces.deleting(profile.id)
    return OrphanedOperations(
      told: ended.map { ($0.0.name, $0.1.machine.status, previous: $0.0.machine.status) }
        + orphans.map { ($0.0.name, .orphaned, previous: $0.0.machine.status) }, records: records,
      memory: [.operations(profile.partition, nil), .operationTally(profile.id, tally)])
  }
}
