internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import JSONRPC
internal import Secrets

enum OperationEnqueueHandler: MethodHandler {
  typealias Method = OperationEnqueue

  static func handle(
    _ params: OperationEnqueue.Params, _ call: Call
  ) async throws(AgentFailure) -> OperationEnqueue.Result {
    let request = try params.request.map { (request) throws(AgentFailure) in
      try Self.request(request, key: params.idempotencyKey)
    }
    if let request { try call.requireCovers(originOf: request.url) }
    if params.request == nil {
      _ = try RequestParameters(method: "", idempotencyKey: params.idempotencyKey).fields()
    }
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
    _ wire: WireOperationRequest, key: String?
  ) throws(AgentFailure) -> OperationContent.Request {
    let parameters = RequestParameters(
      method: wire.method, headers: wire.headers, body: wire.body, bodyBase64: wire.bodyBase64, idempotencyKey: key,
      path: "/request")
    _ = try parameters.fields()
    let content = try parameters.content() ?? wire.body.map { Secret(text: $0) }
    return OperationContent.Request(
      method: wire.method, url: wire.url, headers: parameters.headerList, body: content,
      isText: wire.bodyBase64 == nil)
  }
}
