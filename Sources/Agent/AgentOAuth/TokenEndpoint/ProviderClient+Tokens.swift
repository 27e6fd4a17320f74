package import AgentCore
package import AgentModel
package import AgentPorts
package import Secrets

/// Requests to the token endpoint.
extension ProviderClient {
  /// The answer of a token endpoint, before anything in it is judged.
  package enum TokenAnswer: Sendable {
    /// 200 with tokens in it: raw, to be staged first.
    case answered(body: Secret, sentAt: BootInstant)
    case failed(ExchangeFailure)
  }

  /// `device`: the key that the grant is bound to. `beforeSending` is asked once the connection stands
  /// (`HTTPRequest.beforeSending`); again before the request is sent with another nonce (docs/dpop.md, Nonces).
  package func refresh(
    _ refreshToken: Secret, key: TokenKey, boundTo device: DeviceKey? = nil,
    beforeSending: (@Sendable () async -> Bool)? = nil
  ) async -> TokenAnswer {
    // The provider would refuse the request, and count it.
    guard key.resource == nil || provider.configuration.takesResource else {
      return .failed(.misconfigured("invalid_target"))
    }
    var form = FormBody()
    form.append("grant_type", "refresh_token")
    form.append("refresh_token", refreshToken)
    if let scopes = key.scopes { form.append("scope", scopes.spaceDelimited) }
    // RFC 8707 §2.2; MCP has each token request name the resource.
    if let resource = key.resource ?? provider.configuration.standardResource { form.append("resource", resource) }
    return await token(
      form, boundTo: device, mayRotate: provider.configuration.refresh.reuse != .none, beforeSending: beforeSending)
  }

  /// RFC 6749 §4.1.3 with PKCE (RFC 7636 §4.5).
  package func exchange(
    code: Secret, redirectURI: String, verifier: Secret, boundTo device: DeviceKey? = nil
  ) async -> TokenAnswer {
    var form = FormBody()
    form.append("grant_type", "authorization_code")
    form.append("code", code)
    form.append("redirect_uri", redirectURI)
    form.append("code_verifier", verifier)
    for resource in provider.configuration.sentResources { form.append("resource", resource) }
    return await token(form, boundTo: device)
  }

  private func token(
    _ form: consuming FormBody, boundTo device: DeviceKey?, mayRotate: Bool = false,
    beforeSending: (@Sendable () async -> Bool)? = nil
  ) async -> TokenAnswer {
    guard let endpoint = provider.endpoints.token else { return .failed(.misconfigured("noTokenEndpoint")) }
    let outcome = await send(form.finish(), to: endpoint, boundTo: device, beforeSending: beforeSending)
    return judge(outcome, isBound: device != nil, mayRotate: mayRotate)
  }

  /// Sends one request to the token endpoint, for callers that read its answer in a way of their own.
  package func exchange(_ form: consuming FormBody, boundTo device: DeviceKey? = nil) async -> HTTPOutcome {
    guard let endpoint = provider.endpoints.token else { return .notConnected(.invalidURL) }
    return await send(form.finish(), to: endpoint, boundTo: device)
  }

  /// `mayRotate`: the request carried a refresh token that the provider may have spent. Of a response that was cut,
  /// what arrived is read: it may hold the only live refresh token.
  func judge(_ outcome: HTTPOutcome, isBound: Bool = false, mayRotate: Bool = false) -> TokenAnswer {
    switch outcome {
    case .response(let response):
      switch TokenResponseClassifier.sort(response) {
      case .tokens:
        dependencies.refusals?.forget(provider.configuration.name)
        return .answered(body: response.body, sentAt: response.sentAt)
      case .refusal: return .failed(meaning(of: TokenEndpointRefusal(response, now: now), isBound: isBound))
      case .damaged: return .failed(.unknownOutcome("unreadableAnswer"))
      case .withoutTokens where mayRotate: return .failed(.unknownOutcome("unreadableAnswer"))
      case .foreign, .withoutTokens:
        let pause = TokenEndpointRefusal(response, now: now).retryAfter
        let bounded = pause.map { min($0, FailureClassifier.longestPause) }
        return .failed(.transient(FailureClassifier.notAnOAuthAnswer, retryAfter: bounded))
      }
    case .notConnected(let failure): return .failed(.offline(failure))
    case .untrusted(let reason): return .failed(.untrustedServer(reason))
    case .unknown(_, partial: let partial?) where TokenResponseClassifier.isReadable(partial: partial):
      return judge(.response(partial), isBound: isBound, mayRotate: mayRotate)
    case .unknown(let lost, _): return .failed(.unknownOutcome(lost.rawValue))
    }
  }
}
