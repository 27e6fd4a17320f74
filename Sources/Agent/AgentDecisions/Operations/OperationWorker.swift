package import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentRecords
package import AgentSessions
internal import AgentStore
internal import Secrets

/// Delivers queued operations (docs/operations.md): those of one account one after another, several accounts at a time.
///
/// What is queued is in the vault; memory holds only what ends with the agent: the pauses of accounts here, claims in
/// `OperationLeases`, and outcomes that could not be stored yet in `OperationAttempts`.
///
/// The worker decides whose turn it is. `OperationDelivery` sends one operation, `OperationRequests` serves the callers
/// that enqueue, retry and cancel, and `OperationClaims` those that deliver operations themselves.
package actor OperationWorker {
  /// Accounts whose operations are delivered at one time: each holds a connection and the body of a request.
  static let mostAccounts = 8

  let dependencies: AccountDependencies
  let accounts: AccountDirectory
  let decisions: PolicyDecisionPoint
  private let revocations: RevocationWorker
  private let alarm: Alarm
  let leases: OperationLeases
  let attempts: OperationAttempts
  let stop = StopSignal()

  private var queues: [AccountID: OperationQueue] = [:]
  private var running: Set<AccountID> = []
  private var again: Set<AccountID> = []
  private var waiting: [AccountID] = []
  /// Accounts whose interrupted operations were looked at since the vault was opened.
  private var settled: Set<AccountID> = []
  private var due: [AccountID: BootInstant] = [:]

  package init(
    dependencies: AccountDependencies, accounts: AccountDirectory, revocations: RevocationWorker,
    decisions: PolicyDecisionPoint, attempts: OperationAttempts
  ) {
    self.dependencies = dependencies
    self.accounts = accounts
    self.revocations = revocations
    self.decisions = decisions
    self.attempts = attempts
    alarm = Alarm(clock: dependencies.environment.clock, background: dependencies.background)
    leases = OperationLeases(clock: dependencies.environment.clock, background: dependencies.background)
  }

  /// What callers ask of the queue.
  nonisolated package var requests: OperationRequests { OperationRequests(worker: self) }
  /// What callers ask that deliver operations themselves.
  nonisolated package var claims: OperationClaims { OperationClaims(worker: self) }
  nonisolated var delivery: OperationDelivery { OperationDelivery(worker: self) }
  nonisolated var clock: any AgentClock { dependencies.environment.clock }

  // MARK: occasions

  /// After a start or an unlocking: every account with pending operations.
  package func resume() async {
    claims.resume()
    for id in await pending() { wake(id) }
  }

  /// The network may be back. Operations that waited are sent only after the provider has confirmed their account.
  package func reconnected() async {
    for id in await pending() {
      queues[id, default: OperationQueue()].interrupted()
      queues[id]?.reconnected()
      wake(id)
    }
  }

  /// A host answered where none did.
  package func networkIsThere() async {
    for id in await pending() {
      queues[id, default: OperationQueue()].reconnected()
      wake(id)
    }
  }

  /// The account signed in, or its data was opened.
  package func accountReturned(_ id: AccountID) async {
    queues[id] = nil
    settled.remove(id)
    let hadOperations = try? await dependencies.vault.read { (vault) throws(AgentFailure) in
      vault.operationTallies[id] != nil
    }
    // Most accounts never had one.
    guard hadOperations ?? false else { return }
    _ = try? await dependencies.vault.commit { vault throws(AgentFailure) -> ChangeSet<[Operation]> in
      guard (try? vault.operations.enqueueable(.id(id))) != nil else { return .unchanged([]) }
      return try vault.operations.changeAll(of: id) { $0.machine.signedInAgain() }
    }
    wake(id)
  }

  package func vaultWasLocked() {
    (queues, settled, due) = ([:], [], [:])
    alarm.clear()
    leases.vaultWasLocked()
  }

  /// Requests on their way are given up, so that the agent's end does not wait for a server.
  package nonisolated func shutDown() { stop.stop() }

  private func pending() async -> [AccountID] {
    let found = try? await dependencies.vault.read { vault throws(AgentFailure) in
      vault.operationTallies.filter { $0.value.pending > 0 }.keys.sorted()
    }
    return found ?? []
  }

  // MARK: turns

  /// Looks what the account's operations need, soon.
  func wake(_ id: AccountID) {
    guard !running.contains(id) else {
      again.insert(id)
      return
    }
    guard running.count < Self.mostAccounts else {
      if !waiting.contains(id) { waiting.append(id) }
      return
    }
    running.insert(id)
    if !dependencies.background.start({ await self.run(id) }) { running.remove(id) }
  }

  private func run(_ id: AccountID) async {
    repeat {
      again.remove(id)
      do throws(AgentFailure) {
        try await work(for: id)
      } catch {
        // Locked or signed out: the next occasion wakes the account. Else the disk fails.
        if error.mayPass, !error.isLocked { schedule(id, clock.boot() + .seconds(1)) }
      }
    } while again.contains(id)
    running.remove(id)
    if !waiting.isEmpty { wake(waiting.removeFirst()) }
  }

  private func work(for id: AccountID) async throws(AgentFailure) {
    while !stop.isStopping {
      try await settleInterrupted(id)
      guard let look = try await look(at: id) else { return }
      let queue = queues[id, default: OperationQueue()]
      let step = queue.next(
        of: look.operations.entries, at: look.now, isReachable: look.mayBeTried)
      switch step {
      case .wait(let moment):
        if let moment { schedule(id, clock.boot() + (moment - look.now)) }
        return
      case .lapse(let place):
        try await change(look.operations[place], of: id) { $0.machine.lapsed(at: look.now) }
      case .confirm: try await confirm(id)
      case .offer(let place): try await delivery.offer(look.operations[place], of: id)
      case .deliver(let place): try await delivery.deliver(look.operations[place], of: id)
      }
    }
  }

  struct Look: Sendable {
    var operations: QueuedOperations
    var now: Timestamp
    var mayBeTried: Bool
  }

  /// Nil if nothing of the account can be delivered: it is signed out, or its data is sealed.
  private func look(at id: AccountID) async throws(AgentFailure) -> Look? {
    let connectivity = dependencies.connectivity
    return try await dependencies.vault.read { vault throws(AgentFailure) in
      guard let profile = try? vault.operations.enqueueable(.id(id)) else { return nil }
      return Look(
        operations: try vault.operations.all(of: profile),
        now: vault.time.now(for: profile.provider),
        mayBeTried: connectivity.mayBeTried(profile.provider))
    }
  }

  /// Nil if the operation is gone, or if `body` changes nothing.
  @discardableResult
  nonisolated func change(
    _ operation: Operation, of id: AccountID, onlyIntoFreeRoom: Bool = false,
    _ body: @escaping @Sendable (inout Operation) -> [OperationMachine.Effect]
  ) async throws(AgentFailure) -> Operation? {
    let number = operation.id
    return try await dependencies.vault.commit { vault throws(AgentFailure) in
      let change = try vault.operations.change(number, of: id, body)
      return onlyIntoFreeRoom ? change.onlyIntoFreeRoom : change
    }
  }

  /// After a start or an unlocking: requests and claims that this process knows nothing of were interrupted.
  func settleInterrupted(_ id: AccountID) async throws(AgentFailure) {
    for (number, outcome) in attempts.unsettled(of: id) { try await delivery.store(outcome, of: number) }
    guard settled.insert(id).inserted else { return }
    do throws(AgentFailure) {
      _ = try await dependencies.vault.commit { [attempts, leases] vault throws(AgentFailure) in
        try vault.operations.settleInterrupted(of: id, inFlight: attempts.known, claims: leases.live)
      }
    } catch {
      settled.remove(id)
      throw error
    }
  }

  /// First the revocations, then an exchange and the rights, as after a sign-in.
  private func confirm(_ id: AccountID) async throws(AgentFailure) {
    let profile = try await dependencies.vault.profile(.id(id))
    await revocations.drainDue(profile.provider, of: profile.identity)
    let account = accounts.account(id)
    let failure = await stop.until { () async -> AgentFailure? in
      do throws(AgentFailure) {
        try await account.refreshSnapshot()
        return nil
      } catch {
        return error
      }
    }
    switch failure {
    case nil, .rights?: queues[id, default: OperationQueue()].confirmed()
    case .token(.misconfigured(TokenMachine.noRefreshToken), _)?:
      // The token at hand is all that there is.
      queues[id, default: OperationQueue()].confirmed()
    case let failure?: try await delivery.couldNotSend(nil, failure, for: id)
    }
  }

  /// The account's next turn looks again for what was interrupted, soon.
  func forgetSettling(of id: AccountID) {
    settled.remove(id)
    schedule(id, clock.boot() + .seconds(1))
  }

  // MARK: pauses

  /// A resource server answered.
  func answered(_ id: AccountID, _ caller: OperationCaller) { queues[id, default: OperationQueue()].answered(caller) }

  /// Nothing of the account, or of one caller of it, can be sent now. `now` is its provider's time.
  func failed(
    _ id: AccountID, _ caller: OperationCaller?, at now: Timestamp, pause: Milliseconds? = nil,
    isElsewhere: Bool = false, because cause: OperationQueue.HoldUp
  ) {
    queues[id, default: OperationQueue()].failed(
      caller, at: now, pause: pause, isElsewhere: isElsewhere, because: cause,
      jitter: dependencies.environment.entropy.fraction())
  }

  /// The pauses of an account's operations, with their causes. In memory only: after a start the first attempt finds the
  /// cause again.
  package func queue(of id: AccountID) -> OperationQueue { queues[id] ?? OperationQueue() }

  /// The person wants an operation sent again: the pause is over.
  func retried(_ id: AccountID) {
    queues[id, default: OperationQueue()].reconnected()
    wake(id)
  }

  /// One that was decided just now is about to be enqueued. True if a client may claim it at once.
  func enqueues(_ id: AccountID, isUnreachable: Bool) async throws(AgentFailure) -> Bool {
    guard !isUnreachable else {
      queues[id, default: OperationQueue()].interrupted()
      return false
    }
    guard queue(of: id).needsConfirmation else { return true }
    // Where no other waits, nothing has to be confirmed anew.
    let isFirst = try await dependencies.vault.read { vault throws(AgentFailure) in
      !(try vault.operations.all(of: vault.operations.enqueueable(.id(id))).contains(where: \.machine.isWaiting))
    }
    if isFirst { queues[id, default: OperationQueue()].confirmed() }
    return !queue(of: id).needsConfirmation
  }

  // MARK: time

  private func schedule(_ id: AccountID, _ moment: BootInstant) {
    due[id] = moment
    alarm.set(moment) { await self.wakeDue() }
  }

  private func wakeDue() -> BootInstant? {
    let now = clock.boot()
    for id in due.filter({ $0.value <= now }).keys.sorted() {
      due[id] = nil
      wake(id)
    }
    return due.values.min()
  }
}

extension OperationMachine {
  /// It holds up others, or is held up.
  fileprivate var isWaiting: Bool {
    switch state {
    case .queued, .needsInteraction, .unknown(.some): true
    default: false
    }
  }
}
