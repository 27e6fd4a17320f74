import LoopbackHTTP

/// The refusal of an authorization request, which reaches the client or only the person.
enum AuthorizationRefusal: Error {
  /// The client or the redirect URI is not trusted: only a page shows the error (RFC 6749 section 4.1.2.1).
  case page(String)
  case redirect(to: String)
}

/// Authorization requests, pushed or carried by a browser, and the codes that answer them (RFC 6749 section 4.1),
/// without the pages.
struct Authorizations {
  private var codes: [String: AuthorizationCode] = [:]
  /// Pushed authorization requests that were not used yet, by `request_uri`.
  private var pushed: [String: PushedRequest] = [:]

  // MARK: Requests

  mutating func request(
    _ items: [(name: String, value: String)], from clients: ClientRegistry, in context: ProviderContext
  ) throws(AuthorizationRefusal) -> AuthorizationRequest {
    let options = context.options
    let parameters: Parameters
    do { parameters = try Parameters(items) } catch { throw .page(error.description ?? error.code) }
    if options.pushedAuthorization != .off, let uri = parameters["request_uri"] {
      return try takePushed(uri, clientID: parameters["client_id"], in: context)
    }
    guard let client = parameters["client_id"].flatMap({ clients.client($0, in: context) }) else {
      throw .page("No such client is registered.")
    }
    guard let redirectURI = parameters["redirect_uri"], client.takes(redirectURI: redirectURI, options)
    else { throw .page("The redirect URI is not registered for \(client.id).") }

    do throws(OAuthError) {
      guard options.pushedAuthorization != .required else {
        throw OAuthError.invalidRequest("the request is not pushed")
      }
      return try AuthorizationRequest(parameters, client: client, redirectURI: redirectURI, options: options)
    } catch {
      throw .redirect(to: redirect(redirectURI, state: parameters["state"], error: error, in: context))
    }
  }

  /// `/par` (RFC 9126) for an authenticated client.
  mutating func push(
    _ form: Parameters, by client: PracticeClient, in context: ProviderContext
  ) throws(OAuthError) -> HTTPResponse {
    guard form["request_uri"] == nil else { throw .invalidRequest("request_uri can't be pushed") }  // section 2.1
    guard let redirectURI = form["redirect_uri"], client.takes(redirectURI: redirectURI, context.options)
    else { throw .invalidRequest("the redirect URI is not registered") }
    let lifetime = Int64(context.options.pushedRequestLifetimeSeconds)
    let request = PushedRequest(
      request: try AuthorizationRequest(form, client: client, redirectURI: redirectURI, options: context.options),
      expiresAtMilliseconds: context.now + lifetime * 1000
    )
    if pushed.count >= PushedRequest.maximumWaiting,
      let oldest = pushed.min(by: { $0.value.expiresAtMilliseconds < $1.value.expiresAtMilliseconds })
    {
      pushed[oldest.key] = nil
    }
    let uri = context.newValue("urn:ietf:params:oauth:request_uri:")
    pushed[uri] = request
    return .json(["request_uri": .string(uri), "expires_in": .integer(lifetime)], status: 201)
  }

  /// RFC 9126 section 4: a request URI works once, in its lifetime, and for the client that pushed it. For an unknown
  /// one the redirect URI is unknown too, so a page shows the error.
  private mutating func takePushed(
    _ uri: String, clientID: String?, in context: ProviderContext
  ) throws(AuthorizationRefusal) -> AuthorizationRequest {
    guard let waiting = pushed[uri], waiting.request.clientID == clientID, waiting.expiresAtMilliseconds > context.now
    else { throw .page("This link was used before, or it is too old.") }
    pushed[uri] = nil
    return waiting.request
  }

  // MARK: Answers

  /// The redirect with a code for this user.
  mutating func approve(
    _ request: AuthorizationRequest, userIndex: Int, authTime: Int64? = nil, in context: ProviderContext
  ) -> String {
    let value = context.newValue("code_")
    codes[value] = AuthorizationCode(
      request: request,
      userIndex: userIndex,
      authTime: authTime ?? context.nowSeconds,
      sessionID: context.newValue("sid_"),
      expiresAtMilliseconds: context.now + AuthorizationCode.lifetimeMilliseconds
    )
    return redirect(request.redirectURI, state: request.state, members: [("code", value)], in: context)
  }

  func refuse(
    _ request: AuthorizationRequest, _ code: String, description: String? = nil, in context: ProviderContext
  ) -> String {
    let error = OAuthError(code: code, description: description)
    return redirect(request.redirectURI, state: request.state, error: error, in: context)
  }

  private func redirect(_ uri: String, state: String?, error: OAuthError, in context: ProviderContext) -> String {
    let description = error.description.map { [(name: "error_description", value: $0)] } ?? []
    return redirect(uri, state: state, members: [("error", error.code)] + description, in: context)
  }

  private func redirect(
    _ uri: String, state: String?, members: [(name: String, value: String)], in context: ProviderContext
  ) -> String {
    // RFC 9207: `iss` in successes and errors, so that a client with two providers can distinguish them.
    let namesItself = context.options.sendsIssuer && !context.options.hasIssuerOfEachTenant
    let all =
      members + (state.map { [("state", $0)] } ?? [])
      + (namesItself ? [("iss", context.issuer.identifier)] : [])
    return uri + (uri.contains("?") ? "&" : "?") + FormEncoding.encode(all)
  }

  // MARK: Codes

  func code(_ value: String, of client: PracticeClient) throws(OAuthError) -> AuthorizationCode {
    guard let code = codes[value], code.request.clientID == client.id else { throw .invalidGrant("unknown code") }
    return code
  }

  mutating func use(code value: String, for grantID: String) { codes[value]?.usedForGrant = grantID }
}
