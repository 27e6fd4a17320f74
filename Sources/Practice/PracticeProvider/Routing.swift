import LoopbackHTTP

/// From a request to its reply: the queued fault, the endpoint, the log.
extension ProviderState {
  mutating func reply(to request: HTTPRequest) -> HTTPReply {
    guard let path = context.localPath(of: request.path) else { return finish(.respond(.notFound)) }
    if path.hasPrefix("/practice/") {
      let answered = HTTPReply.respond(control(ControlRequest(request, path)))
      return finish(answered)
    }

    clients.seenID = nil
    let members = request.formItems + request.queryItems
    let fault = faults.take(path: path, members: members)
    if case .changeIDToken(let claims, let signature) = fault?.effect {
      tokens.signer.idTokenChange = (claims, signature)
    }
    // In two steps: in one expression, Swift would copy the whole state before changing it.
    let answered = fault.map { perform($0, request, path) } ?? .respond(answer(request, path))
    let reply = finish(answered)
    tokens.signer.idTokenChange = nil
    record(request, path, members: members, reply: reply, metFault: fault != nil)
    return reply
  }

  private mutating func control(_ request: ControlRequest) -> HTTPResponse {
    do {
      return try .json(request.perform(on: &self))
    } catch let error as ControlRequest.Failure {
      return .json(["problem": .string(error.problem)], status: error.status)
    } catch {
      return .json(["problem": "the body is not what was expected"], status: 400)
    }
  }

  private mutating func perform(_ fault: Fault, _ request: HTTPRequest, _ path: String) -> HTTPReply {
    if let reply = fault.replyBeforeProcessing { return reply }
    return fault.distort(answer(request, path))
  }

  // MARK: Endpoints

  private mutating func answer(_ request: HTTPRequest, _ path: String) -> HTTPResponse {
    do {
      if let document = context.guiseDocument(at: path) { return .json(document) }
      return try endpoint(request, path)
    } catch {
      return context.response(to: error)
    }
  }

  private mutating func endpoint(_ request: HTTPRequest, _ path: String) throws(OAuthError) -> HTTPResponse {
    switch path {
    case "/.well-known/openid-configuration", "/userinfo", "/introspect", "/jwks":
      guard context.options.isOpenID else { return .notFound }
      return try ofOpenID(request, path)
    case Issuer.authorizationServerMetadata: return .json(metadata.ofAuthorizationServer)
    case "/authorize": return signIns.authorize(request, &authorizations, &clients, in: context)
    case "/token": return try token(request)
    case "/par": return try pushAuthorization(request)
    case "/register": return try clients.register(request, in: context)
    case _ where path.hasPrefix("/register/"):
      return try deregister(request, String(path.dropFirst("/register/".count)))
    case "/device_authorization": return try deviceAuthorization(request)
    case "/device": return devices.page(request, in: context)
    case "/revoke": return try revoke(request)
    case "/sts": return try assumeRole(request)
    case "/entitlements": return try entitlements(request)
    case "/logout": return logout(request)
    case "/": return WelcomePage(issuer: context.issuer, users: context.options.users).response()
    case "/protected": return try protectedResource(request)
    case _ where path.hasPrefix("/protected/"): return try protectedResource(request)
    case _ where path.hasPrefix("/keyed/") || path.hasPrefix("/bot"): return try keyed(request, path)
    default: return .notFound
    }
  }

  /// What a plain OAuth server does not have.
  private mutating func ofOpenID(_ request: HTTPRequest, _ path: String) throws(OAuthError) -> HTTPResponse {
    switch path {
    case "/userinfo": try userInfo(request)
    case "/introspect": try introspect(request)
    case "/jwks": .json(context.keySet(tokens.signer.keys.published.map(\.jwk)))
    default: .json(metadata.openIDConfiguration)
    }
  }

  private var metadata: ProviderMetadata {
    ProviderMetadata(
      issuer: context.issuer, options: context.options, algorithm: tokens.signer.keys.current.algorithm)
  }

  /// `/par` (RFC 9126).
  private mutating func pushAuthorization(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    guard context.options.pushedAuthorization != .off else { return .notFound }
    let form = try Parameters(formOf: request)
    let client = try authenticateClient(request, form)
    // RFC 9449 section 10.1.
    if let key = try provenKey(atTokenEndpoint: request, isNeeded: false), let bound = form["dpop_jkt"], bound != key {
      throw OAuthError(code: "invalid_dpop_proof", description: "dpop_jkt names another key")
    }
    return try authorizations.push(form, by: client, in: context)
  }

  /// `/device_authorization` (RFC 8628 section 3.1).
  private mutating func deviceAuthorization(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    let form = try Parameters(formOf: request)
    return try devices.begin(form, by: authenticateClient(request, form), in: context)
  }

  /// Deletes the registration; the client's grants end with it (RFC 7592 section 2.3).
  private mutating func deregister(_ request: HTTPRequest, _ id: String) throws(OAuthError) -> HTTPResponse {
    try clients.deregister(id, request)
    tokens.endAll(because: .revoked) { $0.clientID == id }
    return HTTPResponse(status: 204)
  }

  // MARK: Headers of every response

  /// Adds the provider's time, unless the response has a `Date` already.
  private func finish(_ reply: HTTPReply) -> HTTPReply {
    guard context.options.sendsDate, case .respond(var response, let delay) = reply, response.header("Date") == nil
    else {
      return reply
    }
    response.headers.append(("Date", HTTPDate.text(milliseconds: context.now)))
    return .respond(response, delayMilliseconds: delay)
  }

  private mutating func record(
    _ request: HTTPRequest,
    _ path: String,
    members: [(name: String, value: String)],
    reply: HTTPReply,
    metFault: Bool
  ) {
    let response = reply.response
    log.append(
      LoggedRequest(
        method: request.method,
        path: path,
        grantType: members.first { $0.name == "grant_type" }.map { GrantType.logged($0.value) },
        clientID: clients.seenID.flatMap { clients.client($0, in: context)?.id },
        status: response?.status,
        // A 200 has no error; parsing each would slow a busy provider down.
        error: response.flatMap { $0.status == 200 && !metFault ? nil : $0.json?["error"]?.stringValue },
        metFault: metFault,
        atMilliseconds: context.now
      )
    )
  }
}
