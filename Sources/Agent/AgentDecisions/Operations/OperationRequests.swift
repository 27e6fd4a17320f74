internal import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPermissions
internal import AgentPorts
package import AgentRecords
internal import AgentSessions
package import AgentStore

/// Enqueues, retries and cancels operations for callers.
package struct OperationRequests: Sendable {
  let worker: OperationWorker

  private var dependencies: AccountDependencies { worker.dependencies }

  package struct Enqueued: Sendable {
    package var operation: Operation
    package var decision: RecordedDecision
  }

  /// Decides, stores, and starts the delivery. A denied operation is stored nowhere.
  package func enqueue(
    _ enqueued: EnqueuedOperation, of selector: AccountSelector
  ) async throws(AgentFailure) -> Enqueued {
    let (profile, repeated) = try await dependencies.vault.read { vault throws(AgentFailure) in
      let profile = try vault.operations.enqueueable(selector)
      if let request = enqueued.content.request {
        try vault.providers.provider(named: profile.provider.text).requireSendable(
          request, of: profile.id, for: enqueued.requester)
      }
      return (profile, try vault.operations.repeated(enqueued, of: profile))
    }
    let id = profile.id
    if let repeated { return Enqueued(operation: repeated, decision: repeated.decision) }
    let (decision, approved) = try await decided(
      enqueued.capability, enqueued.content.request, of: profile, for: enqueued.requester, within: enqueued.limit.scopes
    )
    var enqueued = enqueued
    enqueued.approved = approved
    let isUnreachable = dependencies.connectivity.isUnreachable(profile.provider)
    let mayBeOffered = try await worker.enqueues(id, isUnreachable: isUnreachable)
    let isOffered = enqueued.content.request == nil && mayBeOffered
    let operation = try await dependencies.vault.commit { [enqueued] vault throws(AgentFailure) in
      try vault.operations.enqueue(enqueued, of: id, by: decision, isOffered: isOffered)
    }
    await worker.wake(id)
    return Enqueued(operation: operation, decision: decision)
  }

  /// The decision about an operation that waits, after a person approved its request where a capability wants that, and the
  /// capabilities of that approval. It takes no use of a budget before it is delivered. `byPerson`: as
  /// `RequestQuestion.isWantedByPerson`.
  private func decided(
    _ capability: String, _ request: OperationContent.Request?, of profile: AccountProfile,
    for requester: RequestCaller, within limit: Set<String>?, byPerson: Bool = false
  ) async throws(AgentFailure) -> (RecordedDecision, approved: Set<String>) {
    let id = profile.id
    let decision: RecordedDecision
    // Offline it is decided at once, and queued where the policy allows that.
    let patience = worker.decisions.patience(with: profile.provider)
    if let request {
      var question = try request.question(
        capability, of: profile, for: requester, within: limit, waitSeconds: patience)
      question.isWantedByPerson = byPerson
      switch try await worker.decisions.approved(question, isUse: false).verdict {
      case .allowed(let permit):
        guard let allowed = permit.decision else { throw .caller(.notCovered) }
        return (allowed, permit.rights.approved)
      case .notCovered: throw .caller(.notCovered)
      case .unapproved: throw .unapproved(.notApproved, id)
      case .denied(let denied, _): decision = denied
      }
    } else {
      let (_, decided) = try await worker.decisions.decide(
        .id(id), [capability], waitSeconds: patience, within: limit, isUse: false)
      decision = decided[0]
      if decision.decision.allows(isRead: false) { return (decision, []) }
    }
    switch decision.decision.reason {
    case .signedOut: throw .signedOut(id)
    case .stepUpRequired: throw .stepUpWanted(decision)
    default: throw .denied(decision)
    }
  }

  /// The person wants it sent again. A decision that denies leaves it as it is. `limits`: nil for a caller without
  /// limits; another one may have sent only what it could have enqueued itself, and what is its own.
  package func retry(
    _ name: String, of selector: AccountSelector, for limits: EffectiveGrant?
  ) async throws(AgentFailure) -> ToldOperation {
    let (profile, operation, request) = try await dependencies.vault.read { vault throws(AgentFailure) in
      let profile = try vault.operations.enqueueable(selector)
      let operation = try vault.operations.operation(name, of: profile)
      let content = try vault.operations.told(name, of: .id(profile.id)).content
      guard limits?.covers(operation, content?.request) ?? true else { throw .caller(.notCovered) }
      if let request = content?.request {
        try vault.providers.provider(named: profile.provider.text).requireSendable(
          request, of: profile.id, for: operation.requester)
      }
      return (profile, operation, content?.request)
    }
    let id = profile.id
    guard operation.machine.mayBeRetried else { throw Self.notNow }
    var requester = operation.requester
    requester.isForAgent = requester.isForAgent || limits?.permission.isForAgent == true
    let (decision, approved) = try await decided(
      operation.capability, request, of: profile, for: requester, within: limits?.permission.scopes,
      byPerson: limits == nil)
    let mayBeOffered =
      operation.machine.delivery == .client && !dependencies.connectivity.isUnreachable(profile.provider)
    let now = dependencies.time.now(for: profile.provider)
    let changed = try await worker.change(operation, of: id, onlyIntoFreeRoom: true) { operation in
      let effects = operation.machine.retried(at: now)
      guard !effects.isEmpty else { return [] }
      (operation.decision, operation.approved) = (decision, approved)
      operation.forgetAnswer()
      return effects + (mayBeOffered ? operation.machine.offered() : [])
    }
    guard changed != nil else { throw Self.notNow }
    await worker.retried(id)
    return try await dependencies.vault.read { vault throws(AgentFailure) in
      try vault.operations.told(name, of: .id(id))
    }
  }

  /// Takes it out of the queue. What is on its way, or claimed by a client, can't be taken back.
  package func cancel(
    _ name: String, of selector: AccountSelector, for limits: EffectiveGrant?
  ) async throws(AgentFailure) -> ToldOperation {
    let (before, id) = try await dependencies.vault.read { vault throws(AgentFailure) in
      (try vault.operations.told(name, of: selector), try vault.operations.readable(selector).id)
    }
    guard limits?.covers(before.operation, before.content?.request) ?? true else { throw .caller(.notCovered) }
    let changed = try await worker.change(before.operation, of: id) { $0.machine.cancelled() }
    guard let changed else { throw Self.notNow }
    var told = before
    told.operation = changed
    told.updatedAt = changed.updatedAt
    told.nextAttemptAt = nil
    await worker.wake(id)
    return told
  }

  private static let notNow = AgentFailure.invalidParameter(
    "/operation", expected: "an operation whose status allows this")
}

extension EffectiveGrant {
  /// Whether the caller may change this operation: it is its own, or the grant names its capability, and the caller
  /// could have enqueued it.
  fileprivate func covers(_ operation: Operation, _ request: OperationContent.Request?) -> Bool {
    guard coversClaim(of: operation) else { return false }
    if let request {
      let origin = HTTPURL(request.url)?.origin ?? ""
      guard permission.covers(origin: origin) else { return false }
      // Whether the policy lets an AI agent write is decided anew.
      let isCovered = permission.coversUnnamed(request.method, hasBody: request.hasBody, at: origin)
      guard isCovered || operation.requester.isForAgent else { return false }
    }
    guard permission.token(operation.key) == operation.key else { return false }
    return operation.limit.isWithin(permission.tokenLimit)
  }
}

extension OperationContent.Request {
  /// What the policy is asked about it, beside the capability that its client named.
  func question(
    _ capability: String, of profile: AccountProfile, for requester: RequestCaller, within limit: Set<String>?,
    waitSeconds: Int
  ) throws(AgentFailure) -> RequestQuestion {
    guard let url = HTTPURL(url) else { throw .invalidParameter("/request/url", expected: "an absolute URL") }
    var requester = requester
    requester.scopes = limit
    return RequestQuestion(
      account: profile.id, provider: profile.provider, method: method, hasBody: hasBody, url: url, event: .requestSend,
      caller: requester, capability: capability, waitSeconds: waitSeconds)
  }
}

extension Provider {
  /// Throws if this request would not be sent with a token.
  func requireSendable(
    _ request: OperationContent.Request, of account: AccountID, for requester: RequestCaller
  ) throws(AgentFailure) {
    let route = RequestRoutes.Route(self)
    do throws(RequestTarget.Refusal) {
      _ = try RequestTarget(request.url, allowedOrigins: route.origins, names: route.names)
    } catch {
      throw error.failure(of: account, at: "/request/url")
    }
    try request.fields.check(
      request.body, by: route.names, isOfLimitedCaller: requester.grant != nil, at: "/request")
  }
}
