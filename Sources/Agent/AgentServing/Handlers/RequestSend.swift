internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import Secrets

enum RequestSendHandler: LongAnswerHandler {
  typealias Method = RequestSend

  static func handle(_ params: RequestSend.Params, _ call: Call) async throws(AgentFailure) -> Answer {
    var request = try ResourceRequest(params, call)
    try call.requireCovers(originOf: params.url)
    let account: Account
    do throws(AgentFailure) {
      account = try await call.agent.accounts.actor(params.account)
    } catch {
      throw .beforeSending(error)
    }
    request.showsToken = call.limits?.permission.givesTokens ?? true
    request.isOfLimitedCaller = call.limits != nil
    request.reach = call.limits?.permission.accounts
    let sender = RequestSender(request, of: account, judge: call.judge) { () throws(AgentFailure) in
      try call.requireOpen()
    }
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
    return answer(response, account.id)
  }

  static func begin(
    _ params: RequestSend.Params, _ call: Call, _ cancellation: Cancellation,
    ended: @escaping @Sendable (Course<Answer, AgentFailure>) -> Void
  ) -> Bool {
    guard (params.body ?? params.bodyBase64)?.utf8.count ?? 0 <= RequestSender.shortBodyBytes,
      let id = call.agent.tokenCache.account(selector: params.account),
      let request = try? ResourceRequest(params, call)
    else { return false }
    let sender = RequestSender(request, of: call.agent.accounts.account(id), judge: call.judge) {
      () throws(AgentFailure) in
    }
    return sender.begin(cancellation) { course in ended(course.map { answer($0, id) }) }
  }

  private static func answer(_ response: ResourceResponse, _ account: AccountID) -> Answer {
    (RequestSend.Result(response, account: account), response.share)
  }
}

extension ResourceRequest {
  fileprivate init(_ params: RequestSend.Params, _ call: Call) throws(AgentFailure) {
    let parameters = RequestParameters(
      method: params.method, headers: params.headers, body: params.body, bodyBase64: params.bodyBase64,
      idempotencyKey: params.idempotencyKey)
    let fields = try parameters.fields()
    let body = try parameters.content()
    let key = try call.covered(TokenKey(resource: params.resource, scopes: params.scopes.map { ScopeSet($0) }))
    self.init(
      method: params.method, url: params.url, fields: fields, body: body,
      hasIdempotencyKey: params.idempotencyKey != nil, allowsAuthRetry: params.allowAuthRetry, key: key,
      limit: call.tokenLimit, timeout: params.timeoutSeconds.map { .seconds(Int64($0)) })
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
