internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import AgentVault
internal import JSONRPC
internal import Secrets
internal import Synchronization

/// Delivers one operation: decides about it, sends its request and stores what became of it.
struct OperationDelivery: Sendable {
  let worker: OperationWorker

  private typealias Unsettled = OperationAttempts.Unsettled
  private var dependencies: AccountDependencies { worker.dependencies }

  // MARK: deciding

  /// The permit of now, after the provider was asked where a decision lacks that: of the capability that the client
  /// named, and of those that name the request. Nil if the operation may not go now, which is stored already.
  private func permit(
    _ operation: Operation, _ request: OperationContent.Request, of profile: AccountProfile
  ) async throws(AgentFailure) -> RequestPermit? {
    let verdict: RequestVerdict
    do throws(AgentFailure) {
      var question = try request.question(
        operation.capability, of: profile, for: operation.requester, within: operation.limit.scopes,
        waitSeconds: PolicyDecisionPoint.confirmationSeconds)
      question.rights.approved = operation.approved
      verdict = try await worker.decisions.decide(question)
    } catch {
      guard case .invalidParameter = error else { throw error }
      // The policy names the origin since, and its path is read in two ways.
      verdict = .notCovered
    }
    switch verdict {
    case .allowed(let permit): return permit
    case .denied(let decision, _): try await refused(operation, of: profile.id, by: decision)
    case .notCovered: try await worker.change(operation, of: profile.id) { $0.machine.denied() }
    case .unapproved:
      // The policy wants a person's approval since it was enqueued, and no caller waits for one.
      let told = LastFailure(kind: .denied, at: await now(of: profile.id), reason: "notApproved")
      try await worker.change(operation, of: profile.id) { operation in
        operation.lastError = told
        return operation.machine.denied()
      }
    }
    return nil
  }

  /// Stores that an operation may not go now.
  private func refused(
    _ operation: Operation, of id: AccountID, by decision: RecordedDecision
  ) async throws(AgentFailure) {
    switch decision.decision.reason {
    case .signedOut: break
    case _ where decision.decision.wantsPerson:
      try await worker.change(operation, of: id) { operation in
        operation.decision = decision
        return operation.machine.personWanted()
      }
    case _ where decision.decision.remedies.first == .connect:
      // The provider could not be asked after all.
      await pause(id, operation.caller, because: decision)
    case _ where decision.decision.retryAfter != nil:
      // It waits for a use of the budget.
      await pause(id, operation.caller, for: decision.decision.retryAfter, because: decision)
    default:
      try await worker.change(operation, of: id) { operation in
        operation.decision = decision
        return operation.machine.denied()
      }
    }
  }

  func offer(_ operation: Operation, of id: AccountID) async throws(AgentFailure) {
    let (_, decided) = try await worker.decisions.decide(
      .id(id), [operation.capability], waitSeconds: PolicyDecisionPoint.confirmationSeconds,
      within: operation.limit.scopes,
      // Its claim is the use.
      isUse: false)
    let decision = decided[0]
    guard decision.decision.allows(isRead: operation.machine.isRead) else {
      return try await refused(operation, of: id, by: decision)
    }
    try await worker.change(operation, of: id) { operation in
      operation.decision = decision
      return operation.machine.offered()
    }
  }

  // MARK: sending

  func deliver(_ operation: Operation, of id: AccountID) async throws(AgentFailure) {
    let number = operation.id
    let (content, profile) = try await dependencies.vault.read { vault throws(AgentFailure) in
      (
        try vault.operations.told(operation.name, of: .id(id)).content,
        try vault.operations.enqueueable(.id(id))
      )
    }
    let provider = profile.provider
    // What its caller may not set was refused when it was enqueued.
    guard let request = content?.request, let fields = try? request.fields.keyed(operation.idempotencyKey) else {
      throw .vault(.integrity, id)
    }
    guard let permit = try await permit(operation, request, of: profile) else { return }
    let departure = Departure()
    // The contract has no body of no bytes.
    let body = request.body.flatMap { $0.count > 0 ? $0 : nil }
    var outgoing = ResourceRequest(
      method: request.method, url: request.url, fields: fields, body: body, hasIdempotencyKey: true,
      allowsAuthRetry: true, key: operation.key, limit: operation.limit, timeout: nil)
    outgoing.beforeSending = { [self] in await mayLeave(operation, of: id, by: permit.decision, departure) }
    // The answer is kept, and told to callers that may not have the token.
    outgoing.showsToken = false
    outgoing.isOfLimitedCaller = operation.requester.grant != nil
    var judge = RequestJudge(worker.decisions, for: operation.requester)
    judge.permit = permit
    judge.isUnattended = true
    let sender = RequestSender(outgoing, of: worker.accounts.account(id), judge: judge) { () throws(AgentFailure) in }
    worker.attempts.begins(number)
    defer { worker.attempts.ended(number) }
    let result = await worker.stop.until { () async -> Result<Unsettled, AgentFailure> in
      do throws(AgentFailure) {
        let response = try await sender.send()
        let pause = response.fields.retryAfter(now: dependencies.time.now(for: provider))
        let answered = Unsettled(account: id, outcome: .answered(OperationAnswer(response), retryAfter: pause))
        // Before anything is awaited: a sign-out from now on finds that the answer came first.
        worker.attempts.keep(answered, of: number)
        return .success(answered)
      } catch {
        return .failure(error)
      }
    }
    switch result {
    case .success(let answered):
      await worker.answered(id, operation.caller)
      try await store(answered, of: number)
    case .failure(let failure): try await failed(operation, of: id, failure, hasLeft: departure.hasLeft)
    }
  }

  /// What `mayLeave` found, for the failure that follows a no.
  private final class Departure: Sendable {
    private let left = Atomic(false)

    var hasLeft: Bool { left.load(ordering: .acquiring) }
    func leaves() { left.store(true, ordering: .releasing) }
  }

  /// O1: the connection stands, and `sending` is stored before the first byte leaves.
  private func mayLeave(
    _ operation: Operation, of id: AccountID, by decision: RecordedDecision?, _ departure: Departure
  ) async -> Bool {
    let (number, hasLeft) = (operation.id, departure.hasLeft)
    let left = try? await dependencies.vault.commit { vault throws(AgentFailure) -> ChangeSet<Bool> in
      guard let profile = try? vault.operations.enqueueable(.id(id)) else { return .unchanged(false) }
      let all = try vault.operations.all(of: profile)
      // Another request of the same attempt: after a new token, or to where a read was redirected.
      if hasLeft { return .unchanged(all.place(of: number).map { all[$0].machine.status } == .sending) }
      let now = vault.time.now(for: profile.provider)
      let changes = try vault.operations.change(number, of: id) { operation in
        if let decision { operation.decision = decision }
        return operation.machine.leaves(at: now)
      }
      return ChangeSet(
        changes.records, memory: changes.memory, of: id, erasing: changes.erases, result: { changes.result($0) != nil })
    }
    if left == true { departure.leaves() }
    return left == true
  }

  // MARK: outcomes

  private func settle(
    _ operation: Operation, of id: AccountID, _ outcome: Unsettled.Outcome, error: LastFailure? = nil
  ) async throws(AgentFailure) {
    let unsettled = Unsettled(account: id, outcome: outcome, error: error)
    worker.attempts.keep(unsettled, of: operation.id)
    try await store(unsettled, of: operation.id)
  }

  /// Stays in memory if it can't be stored now: the vault is locked, or the disk fails.
  func store(_ unsettled: OperationAttempts.Unsettled, of number: [UInt8]) async throws(AgentFailure) {
    let (id, jitter) = (unsettled.account, dependencies.environment.entropy.fraction())
    var answer: OperationAnswer?
    if case .answered(let given, _) = unsettled.outcome { answer = given }
    _ = try await dependencies.vault.commit { [answer] vault throws(AgentFailure) -> ChangeSet<Operation?> in
      guard let profile = vault.directory.profiles[id] else { return .unchanged(nil) }
      let now = vault.time.now(for: profile.provider)
      return try vault.operations.change(number, of: id, answer: answer) { operation in
        operation.settle(unsettled, at: now, jitter: jitter)
      }
    }
    worker.attempts.isStored(number)
  }

  private func failed(
    _ operation: Operation, of id: AccountID, _ failure: AgentFailure, hasLeft: Bool
  ) async throws(AgentFailure) {
    let moment = (try? await dependencies.vault.profile(.id(id))).map { dependencies.time.now(for: $0.provider) }
    let told = LastFailure(kind: failure.kind, at: moment ?? worker.clock.wall(), reason: failure.requestReason)
    var isRefusedAgain = false
    if hasLeft, failure.kind == .interactionRequired { isRefusedAgain = !(await wantsPerson(id)) }
    switch failure {
    case .request(.tokenRepeated, _, _): try await settle(operation, of: id, .personWanted, error: told)
    case .request(.responseTooLarge, _, _): try await settle(operation, of: id, .unreadable, error: told)
    case .request(let request, _, _) where request.outcome == .unknown && hasLeft:
      try await settle(operation, of: id, .lost, error: told)
    case .challenged: try await settle(operation, of: id, .personWanted, error: told)
    case .request(let request, _, _):
      if hasLeft { try await settle(operation, of: id, .withheld, error: told) }
      let isElsewhere = request == .notSent(.withheld) || !request.isOfNetwork
      await pause(id, operation.caller, isElsewhere: isElsewhere, because: (failure.kind, failure.requestReason))
    case .denied where hasLeft, .unapproved where hasLeft, .stepUpWanted where hasLeft, .caller where hasLeft:
      // A redirect led to what the policy does not allow.
      try await settle(operation, of: id, .withheld, error: told)
      try await worker.change(operation, of: id) { operation in
        operation.lastError = told
        return operation.machine.denied()
      }
    case .originNotAllowed, .invalidParameter, .unsent(.originNotAllowed), .unsent(.invalidParameter):
      // The provider's origins changed since it was enqueued, or since its first request.
      if hasLeft { try await settle(operation, of: id, .withheld, error: told) }
      try await worker.change(operation, of: id) { operation in
        operation.lastError = told
        return operation.machine.denied()
      }
    case _ where isRefusedAgain:
      // The server refuses a token that the provider has just given: that is about this request alone, as a second 401 is.
      try await settle(operation, of: id, .answered(.refusedToken, retryAfter: nil), error: told)
    default:
      // Before it was sent, or after the server refused its token.
      if hasLeft { try await settle(operation, of: id, .withheld, error: told) }
      try await couldNotSend(operation, failure, for: id)
    }
  }

  /// The provider itself wants the person for this account.
  private func wantsPerson(_ id: AccountID) async -> Bool {
    switch try? await worker.accounts.account(id).session().state {
    case .active, .offlineStale: false
    default: true
    }
  }

  /// Nothing of this account can be sent now, or nothing of the caller that enqueued `operation`.
  func couldNotSend(
    _ operation: Operation?, _ failure: AgentFailure, for id: AccountID
  ) async throws(AgentFailure) {
    if case .unsent(let cause) = failure { return try await couldNotSend(operation, cause, for: id) }
    // The provider wants the person for one audience; a grant that has ended concerns all of them.
    let audience = failure.kind == .interactionRequired ? operation?.key : nil
    switch failure.kind {
    case .reauthenticationRequired, .interactionRequired:
      _ = try await dependencies.vault.commit { vault throws(AgentFailure) -> ChangeSet<[Operation]> in
        guard let profile = vault.directory.profiles[id] else { return .unchanged([]) }
        let told = LastFailure(kind: failure.kind, at: vault.time.now(for: profile.provider), reason: nil)
        return try vault.operations.changeAll(of: id) { operation in
          guard operation.machine.delivery == .agent || operation.machine.status == .queued,
            audience.map({ $0.resource == operation.key.resource }) ?? true
          else { return [] }
          let effects = operation.machine.personWanted()
          if !effects.isEmpty { operation.lastError = told }
          return effects
        }
      }
    case .agentLocked, .signedOut, .dataLocked, .accountNotFound, .integrity, .rolledBack: throw failure
    case .accountLocked: await pause(id, nil, for: .seconds(900), because: (failure.kind, nil))
    default:
      await pause(id, operation?.caller, for: failure.retryAfter, because: (failure.kind, failure.requestReason))
    }
  }

  private func pause(
    _ id: AccountID, _ caller: OperationCaller?, for pause: Milliseconds? = nil, because decision: RecordedDecision
  ) async {
    await self.pause(id, caller, for: pause, because: (.denied, decision.decision.reason.rawValue))
  }

  private func pause(
    _ id: AccountID, _ caller: OperationCaller?, for pause: Milliseconds? = nil, isElsewhere: Bool = false,
    because cause: (kind: FailureKind, reason: String?)
  ) async {
    let now = await now(of: id)
    await worker.failed(
      id, caller, at: now, pause: pause, isElsewhere: isElsewhere,
      because: OperationQueue.HoldUp(cause.kind, reason: cause.reason, at: now))
  }

  /// The provider's time, or the clock's for an account that is gone.
  private func now(of id: AccountID) async -> Timestamp {
    let provider = (try? await dependencies.vault.profile(.id(id)))?.provider
    return provider.map { dependencies.time.now(for: $0) } ?? worker.clock.wall()
  }
}

extension Decision {
  /// The same operation is allowed once the person signed in, or proved to be there.
  var wantsPerson: Bool { reason == .reauthenticationRequired || reason == .stepUpRequired }
}

extension RequestFailure {
  /// The way to the server is the cause, and not the server.
  fileprivate var isOfNetwork: Bool {
    switch self {
    case .notSent(let failure): failure.isWithoutWay
    default: false
    }
  }
}

extension AgentFailure {
  fileprivate var requestReason: String? {
    guard case .request(let failure, _, _) = self else { return nil }
    switch failure {
    case .notSent(let failure): return failure.word
    case .lost(let reason): return reason
    case .untrusted(let reason): return reason.rawValue
    case .responseTooLarge: return "responseTooLarge"
    case .tokenRepeated: return "tokenRepeated"
    case .timedOut, .cancelled: return nil
    }
  }
}
