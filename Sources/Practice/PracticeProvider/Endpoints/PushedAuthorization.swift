import LoopbackHTTP

/// A pushed authorization request that waits for its browser.
struct PushedRequest: Sendable {
  /// Limit of pushed requests that are never used.
  static let maximumWaiting = 256

  let request: AuthorizationRequest
  let expiresAtMilliseconds: Int64
}

/// `/par` (RFC 9126).
extension ProviderState {
  mutating func pushAuthorization(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    guard options.pushedAuthorization != .off else { return .notFound }
    let form = try Parameters(formOf: request)
    let client = try authenticateClient(request, form)
    guard form["request_uri"] == nil else { throw .invalidRequest("request_uri can't be pushed") }  // section 2.1
    guard let redirectURI = form["redirect_uri"],
      client.redirectURIs.contains(where: { RedirectURI.matches(redirectURI, registered: $0) })
    else { throw .invalidRequest("the redirect URI is not registered") }
    let pushed = PushedRequest(
      request: try checked(form, client: client, redirectURI: redirectURI),
      expiresAtMilliseconds: now + Int64(options.pushedRequestLifetimeSeconds) * 1000
    )
    if pushedRequests.count >= PushedRequest.maximumWaiting,
      let oldest = pushedRequests.min(by: { $0.value.expiresAtMilliseconds < $1.value.expiresAtMilliseconds })
    {
      pushedRequests[oldest.key] = nil
    }
    let uri = newValue("urn:ietf:params:oauth:request_uri:")
    pushedRequests[uri] = pushed
    let lifetime = PracticeJSON.integer(Int64(options.pushedRequestLifetimeSeconds))
    return .json(["request_uri": .string(uri), "expires_in": lifetime], status: 201)
  }

  /// Section 4: a request URI works once, in its lifetime, and for the client that pushed it. For an unknown one the
  /// redirect URI is unknown too, so a page shows the error.
  mutating func takePushedRequest(_ uri: String, clientID: String?) throws(AuthorizationRefusal) -> AuthorizationRequest
  {
    guard let pushed = pushedRequests[uri], pushed.request.clientID == clientID, pushed.expiresAtMilliseconds > now
    else { throw .page("This link was used before, or it is too old.") }
    pushedRequests[uri] = nil
    return pushed.request
  }
}
