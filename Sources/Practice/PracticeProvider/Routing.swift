import LoopbackHTTP

/// From a request to its reply: the queued fault, the endpoint, the log.
extension ProviderState {
  mutating func reply(to request: HTTPRequest) -> HTTPReply {
    guard let path = issuer.localPath(of: request.path) else { return finish(.respond(.notFound)) }
    if path.hasPrefix("/practice/") {
      let answered = HTTPReply.respond(control(request, path))
      return finish(answered)
    }

    seenClientID = nil
    let members = request.formItems + request.queryItems
    let fault = faults.take(path: path, members: members)
    if case .changeIDToken(let claims, let signature) = fault?.effect { idTokenChange = (claims, signature) }
    // In two steps: in one expression, Swift would copy the whole state before changing it.
    let answered = fault.map { perform($0, request, path) } ?? .respond(answer(request, path))
    let reply = finish(answered)
    idTokenChange = nil
    record(request, path, members: members, reply: reply, metFault: fault != nil)
    return reply
  }

  // MARK: Faults

  private mutating func perform(_ fault: Fault, _ request: HTTPRequest, _ path: String) -> HTTPReply {
    let delay = fault.delayMilliseconds
    switch fault.effect {
    case .answer(let response): return .respond(response, delayMilliseconds: delay)
    case .notJSON: return .respond(.html(Self.captivePortalPage), delayMilliseconds: delay)
    case .dropBeforeProcessing: return .drop(delayMilliseconds: delay)
    case .hangBeforeProcessing: return .hang
    case .endlessBody:
      return .endlessBody(HTTPResponse(status: 200, headers: [("Content-Type", "application/json")]))
    case .answerAfterProcessing, .dropAfterProcessing, .hangAfterProcessing, .hugeBody, .truncatedBody, .none,
      .changeAnswer, .changeIDToken:
      return distort(answer(request, path), by: fault.effect, delay: delay)
    }
  }

  /// Applies the fault to the normal response.
  private func distort(_ response: HTTPResponse, by effect: Fault.Effect, delay: Int) -> HTTPReply {
    var changed = response
    switch effect {
    case .answerAfterProcessing(let other): changed = other
    case .dropAfterProcessing: return .drop(delayMilliseconds: delay)
    case .hangAfterProcessing: return .hang
    case .hugeBody(let bytes): changed.body += [UInt8](repeating: 0x20, count: max(0, bytes))
    case .truncatedBody(let bytes): return .truncate(response, bodyBytes: bytes)
    case .changeAnswer(let changes):
      if let json = response.json, let text = Self.changing(json, response, by: changes) { changed.body = text }
    default: break
    }
    return .respond(changed, delayMilliseconds: delay)
  }

  private static func changing(
    _ json: PracticeJSON,
    _ response: HTTPResponse,
    by changes: [String: PracticeJSON]
  ) -> [UInt8]? {
    guard case .object = json else { return nil }
    return Array(json.changed(by: changes).text.utf8)
  }

  private static let captivePortalPage =
    "<!doctype html><title>Guest network</title><h1>Welcome</h1><p>Accept the terms to use this network.</p>\n"

  // MARK: Endpoints

  private mutating func answer(_ request: HTTPRequest, _ path: String) -> HTTPResponse {
    do {
      return try endpoint(request, path)
    } catch {
      return error.response
    }
  }

  private mutating func endpoint(_ request: HTTPRequest, _ path: String) throws(OAuthError) -> HTTPResponse {
    switch path {
    case "/.well-known/openid-configuration": return openIDConfiguration()
    case Issuer.authorizationServerMetadata: return authorizationServerMetadata()
    case "/jwks": return jwks()
    case "/authorize": return authorize(request)
    case "/token": return try token(request)
    case "/par": return try pushAuthorization(request)
    case "/register": return try registerClient(request)
    case _ where path.hasPrefix("/register/"):
      return try registration(request, of: String(path.dropFirst("/register/".count)))
    case "/device_authorization": return try deviceAuthorization(request)
    case "/device": return devicePage(request)
    case "/revoke": return try revoke(request)
    case "/introspect": return try introspect(request)
    case "/userinfo": return try userInfo(request)
    case "/entitlements": return try entitlements(request)
    case "/logout": return logout(request)
    case "/": return welcome()
    case "/protected": return try protectedResource(request)
    case _ where path.hasPrefix("/protected/"): return try protectedResource(request)
    default: return .notFound
    }
  }

  // MARK: Headers of every response

  /// Adds the provider's time, unless the response has a `Date` already.
  private func finish(_ reply: HTTPReply) -> HTTPReply {
    guard options.sendsDate, case .respond(var response, let delay) = reply, response.header("Date") == nil else {
      return reply
    }
    response.headers.append(("Date", HTTPDate.text(milliseconds: now)))
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
        grantType: members.first { $0.name == "grant_type" }.map { Self.knownGrantType($0.value) },
        clientID: seenClientID.flatMap { client($0)?.id },
        status: response?.status,
        // A 200 has no error; parsing each would slow a busy provider down.
        error: response.flatMap { $0.status == 200 && !metFault ? nil : $0.json?["error"]?.stringValue },
        metFault: metFault,
        atMilliseconds: now
      )
    )
  }

  /// The parameter `grant_type` may contain anything, also a token: only known values are logged.
  private static func knownGrantType(_ text: String) -> String {
    ["authorization_code", "refresh_token", deviceGrantType].contains(text) ? text : "other"
  }
}

extension HTTPResponse {
  static var notFound: HTTPResponse { .oauthError("not_found", status: 404) }
}
