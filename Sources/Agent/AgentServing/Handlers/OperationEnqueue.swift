internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol
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
    if let request { try call.requireCovers(request: request.method, to: request.url) }
    if params.request == nil, let key = params.idempotencyKey { try Self.require(key: key) }
    let enqueued = EnqueuedOperation(
      capability: params.capability,
      content: OperationContent(request: request, payload: params.payload?.withBytes { [UInt8]($0) }),
      label: params.label, idempotencyKey: params.idempotencyKey,
      retryWithin: params.retryWithinSeconds.map { .seconds(Int64($0)) }, expiresAt: params.expiresAt,
      key: try call.covered(.standard), scopeLimit: call.scopeLimit)
    let done = try await call.agent.operations.enqueue(enqueued, of: params.account)
    return OperationEnqueue.Result(
      account: done.operation.account, operation: done.operation.name,
      status: WireOperationStatus(done.operation.machine.status), decision: WireDecision(done.decision))
  }

  private static func require(key: String) throws(AgentFailure) {
    do throws(RequestFields.Refusal) {
      _ = try RequestFields([], idempotencyKey: key)
    } catch {
      throw .invalidParameter(error.path, expected: error.expected)
    }
  }

  private static func request(
    _ wire: WireOperationRequest, key: String?
  ) throws(AgentFailure) -> OperationContent.Request {
    let headers = wire.headers?.entries.map { ($0.name, $0.value) } ?? []
    do throws(RequestFields.Refusal) {
      _ = try RequestFields(headers, idempotencyKey: key)
    } catch {
      throw .invalidParameter(
        (error.path == "/idempotencyKey" ? "" : "/request") + error.path, expected: error.expected)
    }
    guard RequestMachine.canSend(wire.method) else {
      throw .invalidParameter("/request/method", expected: "a method other than CONNECT and TRACE")
    }
    if let text = wire.bodyBase64, Base64.decode(text) == nil {
      throw .invalidParameter("/request/bodyBase64", expected: "padded Base64 (RFC 4648 §4)")
    }
    if wire.method == "HEAD", !(wire.body ?? wire.bodyBase64 ?? "").isEmpty {
      throw .invalidParameter(
        wire.body == nil ? "/request/bodyBase64" : "/request/body", expected: "no body with the method HEAD")
    }
    return OperationContent.Request(
      method: wire.method, url: wire.url, headers: headers, body: wire.body, bodyBase64: wire.bodyBase64)
  }
}
