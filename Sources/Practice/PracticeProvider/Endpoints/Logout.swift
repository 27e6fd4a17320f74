import LoopbackHTTP

/// `/logout` (OpenID RP-Initiated Logout).
extension ProviderState {
  mutating func logout(_ request: HTTPRequest) -> HTTPResponse {
    guard request.method == "GET" || request.method == "POST" else {
      return HTTPResponse(status: 405, headers: [("Allow", "GET, POST")])
    }
    let parameters: Parameters
    do {
      parameters = try Parameters(request.method == "POST" ? request.formItems : request.queryItems)
    } catch {
      return Page.message("Signing out failed", error.description ?? error.code, status: 400, isGood: false)
    }
    // Section 2: an expired ID token is still a valid hint.
    let hinted = parameters["id_token_hint"].flatMap(tokens.grant(ofIDToken:))
    if parameters["id_token_hint"] != nil && hinted == nil {
      return Page.message("Signing out failed", "The hint is not an ID token of ours.", status: 400, isGood: false)
    }
    signIns.endSessions(of: request, userIndex: hinted?.userIndex)
    if let hinted, context.options.logoutEndsTokens {
      tokens.endAll(because: .signedOut) { $0.sessionID == hinted.sessionID }
    }
    return afterLogout(parameters, hinted: hinted)
  }

  /// Section 3: redirects only to a URI that the client has registered; without a hint, `client_id` names the client.
  private func afterLogout(_ parameters: Parameters, hinted: Grant?) -> HTTPResponse {
    let clientID = hinted?.clientID ?? parameters["client_id"]
    if let uri = parameters["post_logout_redirect_uri"] {
      guard let client = clientID.flatMap({ clients.client($0, in: context) }),
        client.postLogoutRedirectURIs.contains(where: { RedirectURI.matches(uri, registered: $0) })
      else {
        return Page.message(
          "You are signed out", "The program’s address is not registered.", status: 400, isGood: false)
      }
      let state = parameters["state"].map { FormEncoding.encode([("state", $0)]) }
      return .redirect(to: state.map { uri + (uri.contains("?") ? "&" : "?") + $0 } ?? uri)
    }
    return Page.message("You are signed out", "You may close this page.", isGood: true)
  }
}
