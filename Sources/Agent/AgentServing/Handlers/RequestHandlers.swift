internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentSignIn
internal import AgentStore
internal import AgentWire
internal import Secrets

enum RequestAuthorizeHandler: MethodHandler {
  typealias Method = RequestAuthorize

  static func handle(
    _ params: RequestAuthorize.Params, _ call: Call
  ) async throws(AgentFailure) -> RequestAuthorize.Result {
    // The caller sends by what the administrator's files say now, and not at their next look.
    if params.trust == true { await call.agent.lookAgain() }
    let account = try await call.agent.accounts.actor(params.account)
    try await TokenRejectHandler.refuse(
      demandIn: params.challenge, against: params.rejected, of: account, call)
    let wanted = RequestToAuthorize(
      account: account.id, method: params.method, hasBody: params.hasBody,
      url: String(params.url.prefix { $0 != "#" }),
      origins: params.origins.map { RequestTarget.origins($0) }, reach: params.accounts.map { Set($0) },
      limits: try call.agent.callerGrants.requestLimits(of: call.limits, as: params.grant),
      token: TokenKey(resource: params.resource, scopes: params.scopes.map { ScopeSet($0) }),
      rejected: params.rejected, nonce: params.nonce,
      wantsNonce: params.nonce != nil && params.challenge?.contains("use_dpop_nonce") == true,
      mayPrompt: params.prompt != nil)
    let authorizer = call.agent.authorizer
    let done = try await withTimeout(seconds: params.timeoutSeconds, clock: call.agent.environment.clock) {
      () async throws(AgentFailure) in try await authorizer.authorize(wanted)
    }
    guard let done else { throw .timedOut(account.id) }
    return RequestAuthorize.Result(
      account: account.id, accessToken: done.accessToken, tokenType: done.tokenType,
      placement: done.placement.map { WireSecretPlacement($0) }, proof: done.proof,
      otherTokens: done.otherTokens, fingerprint: done.fingerprint, expiresAt: done.expiresAt,
      trust: params.trust == true ? WireServerTrust(of: call.agent.setup.client(of: done.provider)) : nil,
      decision: done.decision.map { WireDecision($0) })
  }
}

enum RequestPassHandler: MethodHandler {
  typealias Method = RequestPass

  static func handle(_ params: RequestPass.Params, _ call: Call) async throws(AgentFailure) -> RequestPass.Result {
    guard let text = PassedOrigins.normal(params.origin), let origin = HTTPURL(text) else {
      throw .invalidParameter("/origin", expected: "an origin, such as https://pypi.example, without a path")
    }
    guard params.sentBytes == nil, params.receivedBytes == nil else {
      try await call.agent.passes.passed(
        origin, grant: params.grant, sentBytes: Int64(params.sentBytes ?? 0),
        receivedBytes: Int64(params.receivedBytes ?? 0))
      return RequestPass.Result(basis: .reported)
    }
    let passOrigins = params.passOrigins.map { PassedOrigins($0) }
    let wanted = PassRequest(origin: origin, grant: params.grant, passOrigins: passOrigins)
    return RequestPass.Result(basis: try await call.agent.passes.pass(wanted) == .named ? .named : .any)
  }
}

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
      // What a person added to the grant may count no more.
      try call.requireCovers(originOf: params.url)
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
