internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import AgentWire
internal import JSONRPC
internal import Secrets
internal import Synchronization

enum OperationEnqueueHandler: MethodHandler {
  typealias Method = OperationEnqueue

  static func handle(
    _ params: OperationEnqueue.Params, _ call: Call
  ) async throws(AgentFailure) -> OperationEnqueue.Result {
    let parameters = RequestParameters(params.request, key: params.idempotencyKey)
    // Also without a request: the key may be sent by the client that delivers the operation.
    let fields = try parameters.fields()
    let request = try params.request.map { (request) throws(AgentFailure) in
      try Self.request(request, parameters, fields)
    }
    if let request { try call.requireCovers(originOf: request.url) }
    let enqueued = EnqueuedOperation(
      capability: params.capability,
      content: OperationContent(request: request, payload: params.payload?.withBytes { Secret(copying: $0) }),
      label: params.label, idempotencyKey: params.idempotencyKey,
      retryWithin: params.retryWithinSeconds.map { .seconds(Int64($0)) }, expiresAt: params.expiresAt,
      key: try call.covered(.standard), limit: call.tokenLimit,
      caller: call.limits?.caller ?? .owner, requester: call.agent.callerGrants.requestLimits(of: call.limits).caller)
    let done = try await call.agent.operations.requests.enqueue(enqueued, of: params.account)
    return OperationEnqueue.Result(
      account: done.operation.account, operation: done.operation.name,
      status: WireOperationStatus(done.operation.machine.status), decision: WireDecision(done.decision))
  }

  private static func request(
    _ wire: WireOperationRequest, _ parameters: RequestParameters, _ fields: RequestFields
  ) throws(AgentFailure) -> OperationContent.Request {
    let content = try parameters.content() ?? wire.body.map { Secret(text: $0) }
    return OperationContent.Request(
      method: wire.method, url: wire.url, fields: fields, body: content, isText: wire.bodyBase64 == nil)
  }
}

extension RequestParameters {
  /// Those of an operation: with its request, or with the key alone.
  fileprivate init(_ request: WireOperationRequest?, key: String?) {
    self.init(
      method: request?.method ?? "", headers: request?.headers, body: request?.body, bodyBase64: request?.bodyBase64,
      idempotencyKey: key, path: "/request")
  }
}

enum OperationListHandler: MethodHandler {
  typealias Method = OperationList

  static func handle(_ params: OperationList.Params, _ call: Call) async throws(AgentFailure) -> OperationList.Result {
    let status = params.status.flatMap { OperationMachine.Status(rawValue: $0.rawValue) }
    let id = try await call.agent.vault.profile(params.account).id
    let queue = await call.agent.operations.queue(of: id)
    let (account, page, more) = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.operations.page(of: .id(id), status, after: params.after, limit: params.limit, heldUpBy: queue)
    }
    return OperationList.Result(account: account, operations: page.map { WireOperation($0) }, more: more)
  }
}

enum OperationGetHandler: LongAnswerHandler {
  typealias Method = OperationGet

  /// What is told beside the request and the answer.
  private static let leastBytes = 4 << 10

  static func handle(
    _ params: OperationGet.Params, _ call: Call
  ) async throws(AgentFailure) -> (WireOperation, MemoryBudget.Share?) {
    let id = try await call.agent.vault.profile(params.account).id
    let queue = await call.agent.operations.queue(of: id)
    let told = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.operations.told(params.operation, of: .id(id), heldUpBy: queue)
    }
    let bytes = 2 * told.operation.bytes + Self.leastBytes
    guard let share = await call.agent.environment.answers.share(bytes, isLimited: call.limits != nil) else {
      throw .cancelled
    }
    return (WireOperation(told), share)
  }
}

enum OperationCancelHandler: MethodHandler {
  typealias Method = OperationCancel

  static func handle(_ params: OperationCancel.Params, _ call: Call) async throws(AgentFailure) -> WireOperation {
    WireOperation(
      try await call.agent.operations.requests.cancel(
        params.operation, of: params.account, for: call.limits))
  }
}

enum OperationRetryHandler: MethodHandler {
  typealias Method = OperationRetry

  static func handle(_ params: OperationRetry.Params, _ call: Call) async throws(AgentFailure) -> WireOperation {
    WireOperation(
      try await call.agent.operations.requests.retry(params.operation, of: params.account, for: call.limits)
    )
  }
}

enum OperationClaimHandler: MethodHandler {
  typealias Method = OperationClaim

  static func handle(_ params: OperationClaim.Params, _ call: Call) async throws(AgentFailure) -> WireOperation {
    call.client.mayHaveClaims.store(true, ordering: .releasing)
    let claimed = try await call.agent.operations.claims.claim(
      params.operation, params.capability, of: params.account, for: .seconds(Int64(params.leaseSeconds)),
      on: call.client.id, for: call.limits)
    var operation = WireOperation(claimed.told)
    operation.claim = claimed.claim
    operation.claimExpiresAt = claimed.expiresAt
    return operation
  }
}

enum OperationSettleHandler: MethodHandler {
  typealias Method = OperationSettle

  /// The schema's bound for `detail`.
  private static let mostDetailBytes = 16 << 10

  static func handle(_ params: OperationSettle.Params, _ call: Call) async throws(AgentFailure) -> WireOperation {
    guard let claim = params.claim else { throw .invalidParameter("/claim", expected: "string") }
    // `unknown` stands in the contract, and was never served.
    guard let outcome = OperationMachine.Outcome(rawValue: params.outcome.rawValue) else {
      throw .invalidParameter("/outcome", expected: "done, rejected or retry")
    }
    let detail = params.detail?.withBytes { [UInt8]($0) }
    guard detail?.count ?? 0 <= Self.mostDetailBytes else {
      throw .invalidParameter("/detail", expected: "at most 16 KiB")
    }
    return WireOperation(
      try await call.agent.operations.claims.settle(
        params.operation, of: params.account, by: claim, outcome, detail: detail))
  }
}
