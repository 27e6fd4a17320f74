package import AgentCore
package import AgentModel
internal import AgentPorts
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

  /// Takes the oldest fitting operation for a client. The policy decides about it again; one that it denies is rejected,
  /// and the next one is looked at.
  package func claim(
    _ name: String?, _ capability: String?, of selector: AccountSelector, for lease: Milliseconds,
    on connection: UInt64, within limit: Set<String>?
  ) async throws(AgentFailure) -> Claimed {
    let profile = try await dependencies.vault.read { vault throws(AgentFailure) in
      try vault.operations.enqueueable(selector)
    }
    let id = profile.id
    try await worker.settleInterrupted(id)
    var passed: Set<[UInt8]> = []
    while true {
      let found = try await dependencies.vault.read { [passed] vault throws(AgentFailure) in
        let profile = try vault.operations.enqueueable(.id(id))
        return try vault.operations.all(of: profile).first { operation in
          operation.machine.state == .ready && !passed.contains(operation.id)
            && (name.map { operation.name == $0 } ?? true) && (capability.map { operation.capability == $0 } ?? true)
        }
      }
      guard let found else { throw .operationNotFound(id) }
      passed.insert(found.id)
      let limits = [limit, found.scopeLimit].compactMap { $0 }
      let both = limits.isEmpty ? nil : limits.dropFirst().reduce(limits[0]) { $0.intersection($1) }
      let (_, decided) = try await worker.decisions.decide(.id(id), [found.capability], within: both)
      guard decided[0].decision.effect == .allow else {
        // What this caller alone may not do stays for another one.
        if limit == nil { try await refuse(found, of: id, decided[0]) }
        continue
      }
      if let claimed = try await claim(found, of: profile, decided[0], for: lease, on: connection) { return claimed }
    }
  }

  private func refuse(_ operation: Operation, of id: AccountID, _ decision: RecordedDecision) async throws(AgentFailure)
  {
    guard decision.decision.remedies.first != .connect, decision.decision.reason != .signedOut else { return }
    try await worker.change(operation, of: id) { operation in
      guard operation.machine.state == .ready else { return [] }
      operation.decision = decision
      return operation.machine.denied()
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
      let claimed = try await worker.change(operation, of: id) { operation in
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
    let told = try await dependencies.vault.read { vault throws(AgentFailure) in
      try vault.operations.told(name, of: .id(id))
    }
    return Claimed(told: told, claim: claim, expiresAt: clock.wall() + (until - clock.boot()))
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
    case .unknown: .unknown
    }
  }
}
