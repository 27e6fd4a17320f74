package import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentStore
internal import AgentVault
internal import Secrets

/// What becomes of operations that are stored.
extension OperationStore {
  /// Changes one operation and tells its new status. Nil without a commit if it is gone, or if `body` returns no effect.
  package func change(
    _ number: [UInt8], of id: AccountID, answer: OperationAnswer? = nil,
    _ body: (inout Operation) -> [OperationMachine.Effect]
  ) throws(AgentFailure) -> ChangeSet<Operation?> {
    guard let profile = vault.directory.profiles[id], let place = try all(of: profile).place(of: number) else {
      return .unchanged(nil)
    }
    let changed = try change(at: CollectionOfOne(place), of: profile, answer: answer, endingDoubt: false, body)
    return ChangeSet(
      changed.records, memory: changed.memory, of: id, erasing: changed.erases, result: { changed.result($0).first })
  }

  /// Changes the operations of an account, in one transaction.
  package func changeAll(
    of id: AccountID, endingDoubt: Bool = false, _ body: (inout Operation) -> [OperationMachine.Effect]
  ) throws(AgentFailure) -> ChangeSet<[Operation]> {
    guard let profile = vault.directory.profiles[id] else { return .unchanged([]) }
    return try change(at: all(of: profile).indices, of: profile, answer: nil, endingDoubt: endingDoubt, body)
  }

  private func change(
    at places: some Sequence<Int>, of profile: AccountProfile, answer: OperationAnswer?, endingDoubt: Bool,
    _ body: (inout Operation) -> [OperationMachine.Effect]
  ) throws(AgentFailure) -> ChangeSet<[Operation]> {
    let id = profile.id
    let before = try all(of: profile)
    let now = vault.time.now(for: profile.provider)
    var after = before
    var gone: [Int] = []
    var changed: [(operation: Operation, previous: OperationMachine.Status)] = []
    var records: [VaultChange] = []
    var added = 0
    var forgetsAnswer = false
    for place in places {
      let known = before[place]
      var operation = known
      guard !body(&operation).isEmpty else { continue }
      operation.updatedAt = now
      records += try keepAnswer(answer, of: &operation, insteadOf: known, in: profile, among: before)
      operation.bytes += (operation.detail?.count ?? 0) - (known.detail?.count ?? 0)
      if known.hasAnswer, answer != nil || !operation.hasAnswer { forgetsAnswer = true }
      changed.append((operation, known.machine.status))
      if case .cancelled = operation.machine.state {
        records += removing(known, of: profile)
        gone.append(place)
      } else {
        records.append(.put(profile.partition, .operation, id: operation.id, operation.record))
        added += operation.bytes - known.bytes
        after[place] = operation
      }
    }
    if added > 0 {
      let isLimited = changed.allSatisfy { $0.operation.caller != .owner }
      let leaving = try leaving(after, before: before, adding: added, isLimited: isLimited, of: id)
      records += leaving.flatMap { removing(after[$0], of: profile) }
      gone += leaving
    }
    for place in gone.sorted().reversed() { after.remove(at: place) }
    var tally = tally(after, of: id)
    if endingDoubt { tally.isDoubtful = false }
    guard !changed.isEmpty || vault.operationTallies[id] ?? OperationTally(pending: 0, bytes: 0) != tally else {
      return .unchanged([])
    }
    if vault.operationTallies[id] != tally { records.append(tally.record(of: id)) }
    let events = vault.events
    return ChangeSet(
      records, memory: [.operations(profile.partition, after), .operationTally(id, tally)], of: id,
      erasing: gone.isEmpty && !forgetsAnswer ? nil : .values
    ) { _ in
      for (operation, previous) in changed where operation.machine.status != previous {
        events.publish(
          .operationStatusChanged(operation.name, operation.machine.status, previous: previous), account: id)
      }
      return changed.map(\.operation)
    }
  }

  /// What a process did that has ended, or before the vault was locked: requests are in doubt, claims are over.
  package func settleInterrupted(
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

  /// Stores the answer with the operation, as much of its body as there is room for, or erases the one that a retry
  /// forgets.
  private func keepAnswer(
    _ answer: OperationAnswer?, of operation: inout Operation, insteadOf known: Operation, in profile: AccountProfile,
    among operations: QueuedOperations
  ) throws(AgentFailure) -> [VaultChange] {
    guard answer != nil || (known.hasAnswer && !operation.hasAnswer) else { return [] }
    let replaced = try answerBytes(of: known, in: profile)
    guard let answer else {
      operation.bytes -= replaced
      return [.delete(profile.partition, .operationAnswer, id: known.id)]
    }
    var record = answer.record
    let leaving = operations.boundsEntries.filter(\.mayLeave)
    var room = OperationBounds.mostBytes - allBytes + leaving.reduce(0) { $0 + $1.bytes }
    if operation.caller != .owner {
      let ofLimitedCallers = leaving.reduce(0) { $0 + ($1.isLimited ? $1.bytes : 0) }
      room = min(
        room, OperationBounds.mostBytesOfLimitedCallers - bytesOfLimitedCallers + ofLimitedCallers)
    }
    if record.count > room + replaced { record = answer.fitting(room + replaced).record }
    operation.hasAnswer = true
    operation.bytes += record.count - replaced
    return [.put(profile.partition, .operationAnswer, id: operation.id, record)]
  }

  /// The size of the stored answer.
  private func answerBytes(of operation: Operation, in profile: AccountProfile) throws(AgentFailure) -> Int {
    guard operation.hasAnswer else { return 0 }
    return try vault.withRecords(of: profile.id) { (records) throws(VaultFailure) in
      try records.read(profile.partition, .operationAnswer, id: operation.id)?.count ?? 0
    }
  }

  /// The delivered operations that make room for what a change added. Throws if there is no room for a client's report.
  private func leaving(
    _ after: QueuedOperations, before: QueuedOperations, adding added: Int, isLimited: Bool, of id: AccountID
  ) throws(AgentFailure) -> [Int] {
    // One that ends with this change stays.
    let stays = Set(before.filter { !$0.machine.mayLeave }.map(\.id))
    var entries = after.boundsEntries
    for (place, operation) in after.enumerated() where stays.contains(operation.id) { entries[place].mayLeave = false }
    let leaving = OperationBounds.leaving(
      entries, adding: 0, for: 0, isLimited: isLimited, others: bytesOfOthers(id))
    guard let leaving else {
      // The status of an answer is stored in any case: the header of its operation was counted when it was enqueued.
      guard added > Self.headerBytes else { return [] }
      throw .queueFull(id)
    }
    return leaving
  }

  /// What the operations of all accounts take.
  var allBytes: Int { vault.operationTallies.values.reduce(0) { $0 + $1.bytes } }

  /// What limited callers enqueued in all accounts.
  private var bytesOfLimitedCallers: Int {
    vault.operationTallies.values.reduce(0) { $0 + $1.bytesOfLimitedCallers }
  }

  /// What the operations of all other accounts take.
  func bytesOfOthers(_ id: AccountID) -> OperationBounds.Bytes {
    let own = vault.operationTallies[id]
    return OperationBounds.Bytes(
      all: allBytes - (own?.bytes ?? 0),
      ofLimitedCallers: bytesOfLimitedCallers - (own?.bytesOfLimitedCallers ?? 0))
  }

  func removing(_ operation: Operation, of profile: AccountProfile) -> [VaultChange] {
    [
      .delete(profile.partition, .operation, id: operation.id),
      .delete(profile.partition, .operationContent, id: operation.id),
    ]
      + (operation.hasAnswer ? [.delete(profile.partition, .operationAnswer, id: operation.id)] : [])
  }

  func tally(_ operations: QueuedOperations, of id: AccountID) -> OperationTally {
    let known = vault.operationTallies[id]
    return OperationTally(
      pending: operations.pending, bytes: operations.bytes, bytesOfLimitedCallers: operations.bytesOfLimitedCallers,
      lastSequence: max(operations.last?.sequence ?? 0, known?.lastSequence ?? 0),
      isDoubtful: known?.isDoubtful ?? false)
  }

  func memory(_ operations: QueuedOperations, of profile: AccountProfile) -> [MemoryChange] {
    [.operations(profile.partition, operations), .operationTally(profile.id, tally(operations, of: profile.id))]
  }
}
