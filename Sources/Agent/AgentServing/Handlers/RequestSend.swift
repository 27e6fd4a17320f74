internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import Secrets

enum RequestSendHandler: MethodHandler {
  typealias Method = RequestSend

  static func handle(_ params: RequestSend.Params, _ call: Call) async throws(AgentFailure) -> RequestSend.Result {
    let fields = try fields(of: params)
    let body = try body(of: params)
    let key = try call.covered(TokenKey(resource: params.resource, scopes: params.scopes.map { ScopeSet($0) }))
    try call.requireCovers(request: params.method, to: params.url)
    let account = try await call.agent.accounts.actor(params.account)
    let request = ResourceRequest(
      method: params.method, url: params.url, fields: fields, body: body,
      hasIdempotencyKey: params.idempotencyKey != nil, allowsAuthRetry: params.allowAuthRetry, key: key,
      scopeLimit: call.scopeLimit, timeout: params.timeoutSeconds.map { .seconds(Int64($0)) })
    let sender = RequestSender(request, of: account) { () throws(AgentFailure) in try call.requireOpen() }
    let response = try await sender.send()
    do throws(AgentFailure) {
      try call.requireOpen()
    } catch {
      // The response is withheld from a caller whose grant has ended, and not that a write was sent.
      throw RequestMachine.isRead(params.method) ? error : .sentBefore(error, isRepeatable: false)
    }
    return RequestSend.Result(response, account: account.id)
  }

  private static func fields(of params: RequestSend.Params) throws(AgentFailure) -> RequestFields {
    do throws(RequestFields.Refusal) {
      return try RequestFields(
        params.headers?.entries.map { ($0.name, $0.value) } ?? [], idempotencyKey: params.idempotencyKey)
    } catch {
      throw .invalidParameter(error.path, expected: error.expected)
    }
  }

  private static func body(of params: RequestSend.Params) throws(AgentFailure) -> Secret? {
    guard RequestMachine.canSend(params.method) else {
      throw .invalidParameter("/method", expected: "a method other than CONNECT and TRACE")
    }
    let body: Secret?
    if let text = params.bodyBase64 {
      guard let bytes = Base64.decode(text) else {
        throw .invalidParameter("/bodyBase64", expected: "padded Base64 (RFC 4648 §4)")
      }
      body = bytes.withUnsafeBytes { Secret(copying: $0) }
    } else {
      body = params.body.map { Secret(text: $0) }
    }
    guard let body, body.count > 0 else { return nil }
    guard params.method != "HEAD" else {
      throw .invalidParameter(params.body == nil ? "/bodyBase64" : "/body", expected: "no body with the method HEAD")
    }
    return body
  }
}

extension RequestSend.Result {
  /// A body that is text in UTF-8 is passed on as text, any other as bytes.
  fileprivate init(_ response: ResourceResponse, account: AccountID) {
    let text = response.body.withBytes { String(validating: $0, as: UTF8.self) }
    self.init(
      status: response.status, headers: WireMap(response.fields.all.map { .init(name: $0.name, value: $0.value) }),
      body: text, bodyBase64: text == nil ? response.body.withBytes { Base64.encode($0) } : nil,
      attempts: response.attempts, refreshed: response.isRefreshed, account: account)
  }
}
