package import AgentCore
package import AgentModel
internal import AgentPorts
internal import Secrets

/// Delivers queued operations (docs/operations.md): those of one account one after another, several accounts at a time.
///
/// What is queued is in the vault; the worker keeps in memory only what ends with the agent: pauses of accounts, claims
/// of clients, and outcomes that could not be stored yet.
package actor OperationWorker {
  /// Accounts whose operations are delivered at one time: each holds a connection and the body of a request.
  static let mostAccounts = 8

  let dependencies: AccountDependencies
  let accounts: AccountDirectory
  let decisions: PolicyDecisionPoint
  private let revocations: RevocationWorker
  private let alarm: Alarm

  var queues: [AccountID: OperationQueue] = [:]
  /// Claims that have not ended.
  var leases: [OperationMachine.Claim: Lease] = [:]
  /// Operations whose request is on its way.
  var inFlight: Set<[UInt8]> = []
  /// What became of requests while the vault was locked.
  var unsettled: [[UInt8]: Unsettled] = [:]
  private var running: Set<AccountID> = []
  private var again: Set<AccountID> = []
  private var waiting: [AccountID] = []
  /// Accounts whose interrupted operations were looked at since the vault was opened.
  private var settled: Set<AccountID> = []
  /// The providers of accounts that were looked at: whose time counts.
  var providers: [AccountID: ProviderName] = [:]
  private var due: [AccountID: BootInstant] = [:]
  private var isStopping = false
  /// Requests that the end of the agent cuts off, by a number each.
  private var stopWaiters: [UInt64: AsyncStream<Void>.Continuation] = [:]
  private var stopWaiterCount: UInt64 = 0

  struct Lease {
    var account: AccountID
    var operation: [UInt8]
    var connection: UInt64
    var until: BootInstant
  }

  init(
    dependencies: AccountDependencies, accounts: AccountDirectory, revocations: RevocationWorker,
    decisions: PolicyDecisionPoint
  ) {
    self.dependencies = dependencies
    self.accounts = accounts
    self.revocations = revocations
    self.decisions = decisions
    alarm = Alarm(clock: dependencies.environment.clock, background: dependencies.background)
  }

  var clock: any AgentClock { dependencies.environment.clock }
  var jitter: Double { dependencies.environment.entropy.fraction() }

  func now(of id: AccountID) -> Timestamp {
    providers[id].map { dependencies.time.now(for: $0) } ?? clock.wall()
  }

  // MARK: occasions

  /// After a start or an unlocking: every account with pending operations.
  func resume() async {
    // The alarm was cleared with the lock, and claims go on.
    if let first = leases.values.map(\.until).min() { watchLease(until: first) }
    for id in await pending() { wake(id) }
  }

  /// The network may be back. Operations that waited are sent only after the provider has confirmed their account.
  func reconnected() async {
    for id in await pending() {
      queues[id, default: OperationQueue()].interrupted()
      queues[id]?.reconnected()
      wake(id)
    }
  }

  /// A host answered where none did.
  func networkIsThere() async {
    for id in await pending() {
      queues[id, default: OperationQueue()].reconnected()
      wake(id)
    }
  }

  /// The account signed in, or its data was opened.
  package func accountReturned(_ id: AccountID) async {
    queues[id] = OperationQueue()
    settled.remove(id)
    _ = try? await dependencies.vault.commit { vault throws(AgentFailure) -> ChangeSet<[Operation]> in
      guard (try? vault.operations.enqueueable(.id(id))) != nil else { return .unchanged([]) }
      return try vault.operations.changeAll(of: id) { $0.machine.signedInAgain() }
    }
    wake(id)
  }

  func vaultWasLocked() {
    (queues, settled, due) = ([:], [], [:])
    alarm.clear()
  }

  /// Requests on their way are given up, so that the agent's end does not wait for a server.
  func shutDown() {
    isStopping = true
    for waiter in stopWaiters.values { waiter.finish() }
    stopWaiters = [:]
  }

  /// Ends with `work`, or when the agent ends: then `work` is cancelled.
  func untilStop<Success: Sendable>(_ work: @escaping @Sendable () async -> Success) async -> Success {
    let (stops, stop) = AsyncStream<Void>.makeStream()
    stopWaiterCount += 1
    let number = stopWaiterCount
    if isStopping { stop.finish() } else { stopWaiters[number] = stop }
    let result = await withTaskGroup(of: Success?.self) { group in
      group.addTask { await work() }
      group.addTask {
        for await _ in stops {}
        return nil
      }
      var result: Success?
      while let next = await group.next() {
        if let next { result = next }
        group.cancelAll()
      }
      return result
    }
    stopWaiters[number] = nil
    stop.finish()
    // `work` always ends with a value.
    return result!
  }

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
    while !isStopping {
      try await settleInterrupted(id)
      guard let look = try await look(at: id) else { return }
      providers[id] = look.provider
      let queue = queues[id, default: OperationQueue()]
      let step = queue.next(of: look.operations.map(\.machine), at: look.now, isReachable: look.mayBeTried)
      switch step {
      case .wait(let moment):
        if let moment { schedule(id, clock.boot() + (moment - look.now)) }
        return
      case .lapse(let place):
        try await change(look.operations[place], of: id) { $0.machine.lapsed(at: look.now) }
      case .confirm: try await confirm(id)
      case .offer(let place): try await offer(look.operations[place], of: id)
      case .deliver(let place): try await deliver(look.operations[place], of: id)
      }
    }
  }

  struct Look: Sendable {
    var provider: ProviderName
    var operations: [Operation]
    var now: Timestamp
    var mayBeTried: Bool
  }

  /// Nil if nothing of the account can be delivered: it is signed out, or its data is sealed.
  private func look(at id: AccountID) async throws(AgentFailure) -> Look? {
    let connectivity = dependencies.connectivity
    return try await dependencies.vault.read { vault throws(AgentFailure) in
      guard let profile = try? vault.operations.enqueueable(.id(id)) else { return nil }
      return Look(
        provider: profile.provider, operations: try vault.operations.all(of: profile),
        now: vault.time.now(for: profile.provider),
        mayBeTried: connectivity.mayBeTried(profile.provider))
    }
  }

  @discardableResult
  func change(
    _ operation: Operation, of id: AccountID, answer: OperationAnswer? = nil,
    _ body: @escaping @Sendable (inout Operation) -> [OperationMachine.Effect]
  ) async throws(AgentFailure) -> Operation? {
    let number = operation.id
    return try await dependencies.vault.commit { vault throws(AgentFailure) in
      try vault.operations.change(number, of: id, answer: answer, body)
    }
  }

  /// After a start or an unlocking: requests and claims that this process knows nothing of were interrupted.
  func settleInterrupted(_ id: AccountID) async throws(AgentFailure) {
    for (number, outcome) in unsettled where outcome.account == id {
      try await store(outcome, of: number)
    }
    guard settled.insert(id).inserted else { return }
    let (inFlight, claims) = (inFlight.union(unsettled.keys), Set(leases.filter { clock.boot() < $0.value.until }.keys))
    do throws(AgentFailure) {
      _ = try await dependencies.vault.commit { vault throws(AgentFailure) in
        try vault.operations.settleInterrupted(of: id, inFlight: inFlight, claims: claims)
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
    let failure = await untilStop { () async -> AgentFailure? in
      do throws(AgentFailure) {
        try await account.refreshSnapshot()
        return nil
      } catch {
        return error
      }
    }
    switch failure {
    case nil, .rights?: queues[id, default: OperationQueue()].confirmed()
    case .token(.reauthenticate(reason: "noRefreshToken"), _)?:
      // The token at hand is all that there is.
      queues[id, default: OperationQueue()].confirmed()
    case let failure?: try await couldNotSend(failure, for: id)
    }
  }

  /// The account's next turn looks again for what was interrupted, soon.
  func forgetSettling(of id: AccountID) {
    settled.remove(id)
    schedule(id, clock.boot() + .seconds(1))
  }

  // MARK: time

  func schedule(_ id: AccountID, _ moment: BootInstant) {
    due[id] = moment
    alarm.set(moment) { await self.wakeDue() }
  }

  private func wakeDue() async -> BootInstant? {
    let now = clock.boot()
    for id in due.filter({ $0.value <= now }).keys.sorted() {
      due[id] = nil
      wake(id)
    }
    await endLeases { $0.until <= now }
    return (due.values.map { $0 } + leases.values.map(\.until)).min()
  }

  func watchLease(until moment: BootInstant) {
    alarm.set(moment) { await self.wakeDue() }
  }
}
