package import AgentCore
internal import AgentModel
package import AgentProtocol
package import AgentRecords
internal import JSONRPC
internal import Secrets

// The machine's raw values are those of the contract; a test compares them.

extension WireOperationStatus {
  package init(_ status: OperationMachine.Status) { self = Self(rawValue: status.rawValue) ?? .unknown }
}

extension WireOperation {
  package init(_ told: ToldOperation) {
    let operation = told.operation
    let response = told.answer.map { WireOperationResponse($0) }
    let request = told.content?.request
    self.init(
      operation: operation.name, account: operation.account, status: WireOperationStatus(operation.machine.status),
      capability: operation.capability,
      delivery: WireOperationDelivery(rawValue: operation.machine.delivery.rawValue) ?? .client,
      label: operation.label, idempotencyKey: operation.idempotencyKey, enqueuedAt: told.enqueuedAt,
      updatedAt: told.updatedAt, expiresAt: operation.expiresAt,
      retryWithinSeconds: operation.machine.retryWithin.map { Int($0.wholeSeconds) },
      attempts: operation.machine.attempts, nextAttemptAt: told.nextAttemptAt,
      decision: WireDecision(operation.decision), response: response,
      rejection: WireOperationRejection(operation, response),
      lastError: operation.lastError.map { failure in
        WireLastFailure(name: failure.kind.rawValue, at: told.lastErrorAt ?? failure.at, reason: failure.reason)
      },
      detail: operation.detail.map { RawJSON(stored: $0) },
      request: request.map {
        let headers = $0.fields.own.map { WireMap<String>.Entry(name: $0.name, value: $0.value) }
        return WireOperationRequest(
          method: $0.method, url: $0.url, headers: headers.isEmpty ? nil : WireMap(headers),
          body: $0.isText ? $0.body?.withBytes { String(decoding: $0, as: UTF8.self) } : nil,
          bodyBase64: $0.isText ? nil : $0.body?.withBytes { Base64.encode($0) })
      },
      payload: told.content?.payload.map { RawJSON(stored: $0.withBytes { [UInt8]($0) }) })
  }
}

extension WireOperationRejection {
  fileprivate init?(_ operation: Operation, _ response: WireOperationResponse?) {
    guard case .rejected(let reason) = operation.machine.state else { return nil }
    self.init(
      reason: WireOperationRejectionReason(rawValue: reason.rawValue) ?? .server,
      decision: reason == .policy ? WireDecision(operation.decision) : nil,
      response: reason == .policy ? nil : response)
  }
}

extension WireOperationResponse {
  fileprivate init(_ answer: OperationAnswer) {
    let body = WireBody(answer.body)
    self.init(
      status: answer.status, body: answer.body.count == 0 ? nil : body.text, bodyBase64: body.base64,
      truncated: answer.isTruncated ? true : nil)
  }
}
