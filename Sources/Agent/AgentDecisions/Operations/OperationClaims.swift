package import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentRecords
internal import AgentSessions
package import AgentStore
internal import JSONRPC

/// Claims of clients that deliver operations themselves. A claim ends with its time, with its connection and with the
/// agent.
package struct OperationClaims: Sendable {
  let worker: OperationWorker

  private var dependencies: AccountDependencies { worker.dependencies }
  private var leases: OperationLeases { worker.leases }
  private var clock: any AgentClock { worker.clock }

  package struct Claimed: Sendable {
    package var told: ToldOperation
    package var claim: OperationMachine.Claim
    /// By the wall clock.
    package var expiresAt: Timestamp
  }

  /// What the policy is asked about an operation. One decision answers for all operations of the same question.
  private struct Question: Hashable {
    let capability: String
    let scopes: Set<String>?

    /// `limit`: the scopes of the caller, beside those of the client that enqueued the operation.
    init(_ operation: Operation, within limit: Set<String>?) {
      capability = operation.capability
      scopes = limit.map { limit in operation.limit.scopes.map(limit.intersection) ?? limit } ?? operation.limit.scopes
    }
  }

  /// Takes the oldest fitting operation for a client. The policy decides about it again; those that it denies end, and
  /// the next one is looked at. A limited caller takes what it may (`EffectiveGrant.coversClaim`). What a caller with a
  /// scope limit alone may not do stays for another one, and is recorded once for each claim, so that one claim writes
  /// one entry into the audit log at most.
  package func claim(
    _ name: String?, _ capability: String?, of selector: AccountSelector, for lease: Milliseconds,
    on connection: UInt64, for limits: EffectiveGrant?
  ) async throws(AgentFailure) -> Claimed {
    let limit = limits?.permission.scopes
    let profile = try await dependencies.vault.read { vault throws(AgentFailure) in
      try vault.operations.enqueueable(selector)
    }
    let id = profile.id
    try await worker.settleInterrupted(id)
    var denied: Set<Question> = []
    var passed: Set<[UInt8]> = []
    var firstDenied: Question?
    while true {
      let found = try await dependencies.vault.read { [denied, passed] vault throws(AgentFailure) in
        let profile = try vault.operations.enqueueable(.id(id))
        return try vault.operations.all(of: profile).first { operation in
          operation.machine.state == .ready && limits?.coversClaim(of: operation) ?? true
            && !passed.contains(operation.id)
            && (name.map { operation.name == $0 } ?? true) && (capability.map { operation.capability == $0 } ?? true)
            && !denied.contains(Question(operation, within: limit))
        }
      }
      guard let found else { break }
      let question = Question(found, within: limit)
      if limit != nil, try await !mayBeAllowed(question, of: id) {
        firstDenied = firstDenied ?? question
        denied.insert(question)
        continue
      }
      passed.insert(found.id)
      let decision = try await decide(question, of: id)
      guard decision.decision.effect == .allow else {
        if limit == nil { try await refuse(question, of: id, decision) }
        firstDenied = nil
        denied.insert(question)
        continue
      }
      if let claimed = try await claim(found, of: profile, decision, for: lease, on: connection) { return claimed }
    }
    if let firstDenied { _ = try await decide(firstDenied, of: id) }
    throw .operationNotFound(id)
  }

  private func decide(_ question: Question, of id: AccountID) async throws(AgentFailure) -> RecordedDecision {
    let (_, decided) = try await worker.decisions.decide(.id(id), [question.capability], within: question.scopes)
    return decided[0]
  }

  /// The decision without a record of it.
  private func mayBeAllowed(_ question: Question, of id: AccountID) async throws(AgentFailure) -> Bool {
    let decision = try await worker.decisions.explain(
      .id(id), question.capability, at: nil, assuming: nil, within: question.scopes)
    return decision.decision.effect == .allow
  }

  /// Ends what a denial answers for, or has it wait for the person.
  private func refuse(
    _ question: Question, of id: AccountID, _ decision: RecordedDecision
  ) async throws(AgentFailure) {
    // A budget has a use again by itself.
    guard decision.decision.remedies.first != .connect, decision.decision.reason != .signedOut,
      decision.decision.reason != .budgetExceeded
    else { return }
    _ = try await dependencies.vault.commit { vault throws(AgentFailure) in
      try vault.operations.changeAll(of: id) { operation in
        guard operation.machine.state == .ready, Question(operation, within: nil) == question else { return [] }
        operation.decision = decision
        return decision.decision.wantsPerson ? operation.machine.personWanted() : operation.machine.denied()
      }.onlyIntoFreeRoom
    }
  }

  /// Nil if another client was first.
  private func claim(
    _ operation: Operation, of profile: AccountProfile, _ decision: RecordedDecision, for lease: Milliseconds,
    on connection: UInt64
  ) async throws(AgentFailure) -> Claimed? {
    let id = profile.id
    let claim = "clm_" + Base32.encode(dependencies.environment.entropy.bytes(16))
    let until = clock.boot() + lease
    let now = dependencies.time.now(for: profile.provider)
    let held = OperationLeases.Lease(account: id, operation: operation.id, connection: connection, until: until)
    leases.put(claim, held)
    do throws(AgentFailure) {
      let claimed = try await worker.change(operation, of: id, onlyIntoFreeRoom: true) { operation in
        // Its time is over: the account's next turn ends it.
        if let lapse = operation.machine.lapse, lapse <= now { return [] }
        operation.decision = decision
        operation.settledBy = nil
        return operation.machine.claimed(claim)
      }
      guard claimed != nil else {
        leases.remove(claim)
        await worker.wake(id)
        return nil
      }
    } catch {
      leases.remove(claim)
      throw error
    }
    // The client may have gone while the claim was stored.
    guard leases.contains(claim), !Task.isCancelled else {
      // Also one whose lease ended before the claim was stored: that end found nothing to release.
      leases.put(claim, held)
      await end([claim])
      throw .cancelled
    }
    watch(until: until)
    let name = operation.name
    let (told, provider) = try await dependencies.vault.read { vault throws(AgentFailure) in
      (try vault.operations.told(name, of: .id(id)), try vault.directory.profile(.id(id)).provider)
    }
    return Claimed(told: told, claim: claim, expiresAt: dependencies.time.moment(until, of: provider))
  }

  /// The same report again, by a client that lost the answer, changes nothing and is answered as the first.
  package func settle(
    _ name: String, of selector: AccountSelector, by claim: OperationMachine.Claim, _ outcome: OperationMachine.Outcome,
    detail: [UInt8]?
  ) async throws(AgentFailure) -> ToldOperation {
    let id = try await dependencies.vault.read { vault throws(AgentFailure) in
      try vault.operations.readable(selector).id
    }
    let isLive = leases.isLive(claim, of: id)
    try await dependencies.vault.commit { vault throws(AgentFailure) -> ChangeSet<Void> in
      let profile = try vault.operations.readable(.id(id))
      let known = try vault.operations.operation(name, of: profile)
      if known.settledBy == claim, known.machine.status == outcome.status { return .unchanged }
      guard isLive, known.machine.state == .claimed(claim) else { throw .operationNotFound(id) }
      let changes = try vault.operations.change(known.id, of: id) { operation in
        operation.detail = detail
        operation.settledBy = claim
        return operation.machine.settled(outcome, by: claim)
      }
      return ChangeSet(
        changes.records, memory: changes.memory, of: id, erasing: changes.erases, result: { _ = changes.result($0) })
    }
    leases.remove(claim)
    // A time that passed while it was claimed ends it now.
    await worker.wake(id)
    return try await dependencies.vault.read { vault throws(AgentFailure) in
      try vault.operations.told(name, of: .id(id))
    }
  }

  // MARK: ends

  package func connectionEnded(_ connection: UInt64) async { await end(leases.claims { $0.connection == connection }) }

  /// After an unlocking: the alarm was cleared with the lock, and claims go on.
  func resume() {
    if let first = leases.firstEnd { watch(until: first) }
  }

  private func watch(until moment: BootInstant) {
    leases.alarm.set(moment) { [self] in
      let now = clock.boot()
      await end(leases.claims { $0.until <= now })
      return leases.firstEnd
    }
  }

  private func end(_ claims: [OperationMachine.Claim]) async {
    // First out of memory, so that none of them settles any more.
    let ended = claims.compactMap { claim in leases.remove(claim).map { (claim, $0) } }
    for (claim, lease) in ended {
      do throws(AgentFailure) {
        _ = try await dependencies.vault.commit { vault throws(AgentFailure) in
          try vault.operations.change(lease.operation, of: lease.account) { $0.machine.released(claim) }
        }
        await worker.wake(lease.account)
      } catch {
        // Locked, or the disk fails: the account's next turn finds a claim without a lease.
        await worker.forgetSettling(of: lease.account)
      }
    }
  }
}

extension OperationMachine.Outcome {
  fileprivate var status: OperationMachine.Status {
    switch self {
    case .done: .done
    case .rejected: .rejected
    case .retry: .ready
    }
  }
}
