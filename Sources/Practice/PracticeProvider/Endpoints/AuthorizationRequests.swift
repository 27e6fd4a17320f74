import LoopbackHTTP

/// Reads authorization requests and answers them (RFC 6749 section 4.1), without the pages.
extension ProviderState {
  /// The refusal of a request, which reaches the client or only the person.
  enum AuthorizationRefusal: Error {
    /// The client or the redirect URI is not trusted: only a page shows the error (RFC 6749 section 4.1.2.1).
    case page(String)
    case redirect(to: String)
  }

  mutating func authorizationRequest(
    _ items: [(name: String, value: String)]
  ) throws(AuthorizationRefusal) -> AuthorizationRequest {
    let parameters: Parameters
    do { parameters = try Parameters(items) } catch { throw .page(error.description ?? error.code) }
    if options.pushedAuthorization != .off, let uri = parameters["request_uri"] {
      return try takePushedRequest(uri, clientID: parameters["client_id"])
    }
    guard let client = parameters["client_id"].flatMap(client) else { throw .page("No such client is registered.") }
    guard let redirectURI = parameters["redirect_uri"],
      client.redirectURIs.contains(where: {
        options.comparesRedirectPorts ? redirectURI == $0 : RedirectURI.matches(redirectURI, registered: $0)
      })
    else { throw .page("The redirect URI is not registered for \(client.id).") }

    let state = parameters["state"]
    do throws(OAuthError) {
      guard options.pushedAuthorization != .required else {
        throw OAuthError.invalidRequest("the request is not pushed")
      }
      return try checked(parameters, client: client, redirectURI: redirectURI)
    } catch {
      throw .redirect(to: redirect(redirectURI, state: state, error: error))
    }
  }

  func checked(
    _ parameters: Parameters,
    client: PracticeClient,
    redirectURI: String
  ) throws(OAuthError) -> AuthorizationRequest {
    if parameters["request"] != nil { throw OAuthError(code: "request_not_supported") }
    if parameters["request_uri"] != nil { throw OAuthError(code: "request_uri_not_supported") }
    guard try parameters.required("response_type") == "code" else {
      throw OAuthError(code: "unsupported_response_type")
    }
    guard parameters["response_mode"] ?? "query" == "query" else {
      throw .invalidRequest("response_mode must be query")
    }
    // RFC 9700 section 2.1.1: PKCE for every client, and no `plain`, which reveals the verifier to readers of the
    // request.
    guard let challenge = parameters["code_challenge"] else { throw .invalidRequest("code_challenge is missing") }
    guard parameters["code_challenge_method"] == "S256" else {
      throw .invalidRequest("code_challenge_method must be S256")
    }
    guard Base64URL.decode(challenge)?.count == 32 else { throw .invalidRequest("code_challenge is not a SHA-256") }
    let prompts = Set((parameters["prompt"] ?? "").split(separator: " ").map(String.init))
    guard !prompts.contains("none") || prompts.count == 1 else { throw .invalidRequest("prompt none stands alone") }
    return AuthorizationRequest(
      clientID: client.id,
      redirectURI: redirectURI,
      scopes: try checkedScopes(parameters, client),
      resources: try checkedResources(parameters, client),
      state: parameters["state"],
      nonce: parameters["nonce"],
      codeChallenge: challenge,
      loginHint: parameters["login_hint"],
      prompts: prompts,
      maximumAgeSeconds: parameters["max_age"].flatMap { Int64($0) }
    )
  }

  func checkedScopes(_ parameters: Parameters, _ client: PracticeClient) throws(OAuthError) -> [String] {
    let wanted = parameters.scopes ?? ["openid"]
    for scope in wanted where !options.scopes.contains(scope) || client.scopes.map({ !$0.contains(scope) }) ?? false {
      throw OAuthError(code: "invalid_scope", description: "\(scope) is not offered")
    }
    return wanted
  }

  /// The redirect with a code for this user.
  mutating func approve(_ request: AuthorizationRequest, userIndex: Int, authTime: Int64? = nil) -> String {
    let value = newValue("code_")
    codes[value] = AuthorizationCode(
      request: request,
      userIndex: userIndex,
      authTime: authTime ?? nowSeconds,
      sessionID: newValue("sid_"),
      expiresAtMilliseconds: now + AuthorizationCode.lifetimeMilliseconds
    )
    return redirect(request.redirectURI, state: request.state, members: [("code", value)])
  }

  func refuse(_ request: AuthorizationRequest, _ code: String, description: String? = nil) -> String {
    redirect(request.redirectURI, state: request.state, error: OAuthError(code: code, description: description))
  }

  private func redirect(_ uri: String, state: String?, error: OAuthError) -> String {
    let description = error.description.map { [(name: "error_description", value: $0)] } ?? []
    return redirect(uri, state: state, members: [("error", error.code)] + description)
  }

  private func redirect(_ uri: String, state: String?, members: [(name: String, value: String)]) -> String {
    // RFC 9207: `iss` in successes and errors, so that a client with two providers can distinguish them.
    let all =
      members + (state.map { [("state", $0)] } ?? [])
      + (options.hasIssuerOfEachTenant ? [] : [("iss", issuer.identifier)])
    return uri + (uri.contains("?") ? "&" : "?") + FormEncoding.encode(all)
  }
}
