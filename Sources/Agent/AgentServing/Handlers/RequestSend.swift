internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import Secrets

enum RequestSendHandler: LongAnswerHandler {
  typealias Method = RequestSend

  static func handle(
    _ params: RequestSend.Params, _ call: Call
  ) async throws(AgentFailure) -> (RequestSend.Result, MemoryBudget.Share?) {
    let parameters = RequestParameters(
      method: params.method, headers: params.headers, body: params.body, bodyBase64: params.bodyBase64,
      idempotencyKey: params.idempotencyKey)
    let fields = try parameters.fields()
    let body = try parameters.content()
    let key = try call.covered(TokenKey(resource: params.resource, scopes: params.scopes.map { ScopeSet($0) }))
    try call.requireCovers(request: params.method, to: params.url)
    let account = try await call.agent.accounts.actor(params.account)
    var request = ResourceRequest(
      method: params.method, url: params.url, fields: fields, body: body,
      hasIdempotencyKey: params.idempotencyKey != nil, allowsAuthRetry: params.allowAuthRetry, key: key,
      limit: call.tokenLimit, timeout: params.timeoutSeconds.map { .seconds(Int64($0)) })
    request.showsToken = call.limits?.permission.givesTokens ?? true
    request.isOfLimitedCaller = call.limits != nil
    let sender = RequestSender(request, of: account) { () throws(AgentFailure) in try call.requireOpen() }
    let response = try await sender.send()
    do throws(AgentFailure) {
      try call.requireOpen()
    } catch {
      // The response is withheld from a caller whose grant has ended, and not that a write was sent.
      throw RequestMachine.isRead(params.method) ? error : .sentBefore(error, isRepeatable: false)
    }
    guard !response.repeatsToken else {
      throw .request(.tokenRepeated, account.id, isRepeatable: RequestMachine.isRead(params.method))
    }
    return (RequestSend.Result(response, account: account.id), response.share)
  }
}

extension RequestSend.Result {
  fileprivate init(_ response: ResourceResponse, account: AccountID) {
    let body = WireBody(response.body)
    self.init(
      status: response.status, headers: WireMap(response.fields.all.map { .init(name: $0.name, value: $0.value) }),
      body: body.text, bodyBase64: body.base64,
      attempts: response.attempts, refreshed: response.isRefreshed, account: account)
  }
}
