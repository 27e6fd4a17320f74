package import AgentCore
package import AgentModel
package import AgentPorts
package import JSONRPC
internal import SecretJSON
package import Secrets

/// Speaks to one provider: every request leaves once, on a connection of its own.
package struct ProviderClient: Sendable {
  package let provider: Provider
  let dependencies: Dependencies

  /// The ports that a client uses.
  package struct Dependencies: Sendable {
    package var http: any HTTPExchange
    package var clock: any AgentClock
    package var entropy: any Entropy
    package var keys: any ClientKeySigner
    package var signatures: any SignatureVerifier
    package var time: any ProviderClock
    package var nonces: DPoPNonces

    package init(
      http: any HTTPExchange, clock: any AgentClock, entropy: any Entropy, keys: any ClientKeySigner,
      signatures: any SignatureVerifier, time: any ProviderClock, nonces: DPoPNonces = DPoPNonces()
    ) {
      self.http = http
      self.clock = clock
      self.entropy = entropy
      self.keys = keys
      self.signatures = signatures
      self.time = time
      self.nonces = nonces
    }
  }

  package init(provider: Provider, dependencies: Dependencies) {
    self.provider = provider
    self.dependencies = dependencies
  }

  var clock: any AgentClock { dependencies.clock }
  var signatures: any SignatureVerifier { dependencies.signatures }

  /// The answer of a token endpoint, before anything in it is judged.
  package enum TokenAnswer: Sendable {
    /// 200 with tokens in it: raw, to be staged first.
    case answered(body: Secret, sentAt: BootInstant)
    case failed(ExchangeFailure)
  }

  // MARK: token endpoint

  /// `device`: the key that the grant is bound to. `beforeSending` is asked once the connection stands
  /// (`HTTPRequest.beforeSending`); again before the request is sent with another nonce (docs/dpop.md, Nonces).
  package func refresh(
    _ refreshToken: Secret, key: TokenKey, boundTo device: DeviceKey? = nil,
    beforeSending: (@Sendable () async -> Bool)? = nil
  ) async -> TokenAnswer {
    var form = FormBody()
    form.append("grant_type", "refresh_token")
    form.append("refresh_token", refreshToken)
    if let scopes = key.scopes { form.append("scope", scopes.spaceDelimited) }
    if let resource = key.resource { form.append("resource", resource) }  // RFC 8707 §2.2
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
    for resource in provider.configuration.resources { form.append("resource", resource) }
    return await token(form, boundTo: device)
  }

  private func token(
    _ form: consuming FormBody, boundTo device: DeviceKey?, mayRotate: Bool = false,
    beforeSending: (@Sendable () async -> Bool)? = nil
  ) async -> TokenAnswer {
    guard provider.endpoints.token != nil else { return .failed(.misconfigured("noTokenEndpoint")) }
    let outcome = await exchange(form, boundTo: device, beforeSending: beforeSending)
    return judge(outcome, isBound: device != nil, mayRotate: mayRotate)
  }

  /// Sends one request to the token endpoint, with the client's authentication and, by a `device`, with a proof.
  package func exchange(
    _ form: consuming FormBody, boundTo device: DeviceKey? = nil, beforeSending: (@Sendable () async -> Bool)? = nil
  ) async -> HTTPOutcome {
    guard let endpoint = provider.endpoints.token else { return .notConnected(.invalidURL) }
    return await send(form.finish(), to: endpoint, boundTo: device, beforeSending: beforeSending)
  }

  func hearTime(_ response: HTTPResponse) {
    dependencies.time.answered(
      by: provider.configuration.name, date: response.field("Date"), sentAt: response.sentAt,
      receivedAt: response.receivedAt)
  }

  /// `mayRotate`: the request carried a refresh token that the provider may have spent. Of a response that was cut,
  /// what arrived is read: it may hold the only live refresh token.
  func judge(_ outcome: HTTPOutcome, isBound: Bool = false, mayRotate: Bool = false) -> TokenAnswer {
    switch outcome {
    case .response(let response):
      switch TokenResponseClassifier.sort(response) {
      case .tokens: return .answered(body: response.body, sentAt: response.sentAt)
      case .refusal: return .failed(meaning(of: TokenEndpointRefusal(response, now: clock.wall()), isBound: isBound))
      case .damaged: return .failed(.unknownOutcome("unreadableAnswer"))
      case .withoutTokens where mayRotate: return .failed(.unknownOutcome("unreadableAnswer"))
      case .foreign, .withoutTokens:
        let pause = TokenEndpointRefusal(response, now: clock.wall()).retryAfter
        let bounded = pause.map { min($0, FailureClassifier.longestPause) }
        return .failed(.transient("notAnOAuthAnswer", retryAfter: bounded))
      }
    case .notConnected(let failure): return .failed(.offline(failure.rawValue))
    case .untrusted(let reason): return .failed(.untrustedServer(reason))
    case .unknown(_, partial: let partial?) where TokenResponseClassifier.isReadable(partial: partial):
      return judge(.response(partial), isBound: isBound, mayRotate: mayRotate)
    case .unknown(let lost, _): return .failed(.unknownOutcome(lost.rawValue))
    }
  }

  /// `isBound`: the request had a proof of possession.
  package func meaning(of refusal: TokenEndpointRefusal, isBound: Bool = false) -> ExchangeFailure {
    FailureClassifier.classify(
      refusal, codes: provider.configuration.errorCodes, table: provider.preset?.failures, isBound: isBound)
  }

  // MARK: revocation (RFC 7009)

  package func revoke(_ token: Secret, _ kind: TokenTypeHint) async -> RevocationOutbox.Answer {
    guard let endpoint = provider.endpoints.revocation else { return .none }
    var form = FormBody()
    form.append("token", token)
    form.append("token_type_hint", kind.rawValue)
    guard let fields = authenticate(&form, at: endpoint),
      case .response(let response) = await send(request("POST", endpoint, fields: fields, body: form.finish()))
    else { return .none }
    let refusal = TokenEndpointRefusal(response, now: clock.wall())
    return .response(status: response.status, error: refusal.error, retryAfter: refusal.retryAfter)
  }

  // MARK: documents

  /// Reads a public JSON document.
  package func document<Result>(
    _ url: String, credential: AccessCredential? = nil, timeout: Milliseconds? = nil, _ read: (JSONNode) -> Result?
  ) async throws(DocumentFailure) -> Result {
    var request = request("GET", url, fields: [HTTPField("Accept", "application/json")], body: nil)
    if let timeout { request.timeout = timeout }
    guard let credential else { return try self.read(await send(request), read) }
    return try self.read(await send(request, authorizedBy: credential), read)
  }

  /// The provider's answer about a token of this client (RFC 7662).
  func introspect<Result>(
    _ token: Secret, at endpoint: String, _ read: (JSONNode) -> Result?
  ) async throws(DocumentFailure) -> Result {
    var form = FormBody()
    form.append("token", token)
    form.append("token_type_hint", TokenTypeHint.accessToken.rawValue)
    guard let fields = authenticate(&form, at: endpoint) else { throw .malformed }
    return try self.read(await send(request("POST", endpoint, fields: fields, body: form.finish())), read)
  }

  private func read<Result>(
    _ outcome: HTTPOutcome, _ read: (JSONNode) -> Result?
  ) throws(DocumentFailure) -> Result {
    switch outcome {
    case .response(let response) where response.status == 200:
      guard let result = SecretJSON.read(response.body, read) else { throw .malformed }
      return result
    case .response(let response): throw .unavailable(status: response.status)
    case .untrusted(let reason): throw .untrusted(reason)
    case .notConnected: throw .offline
    case .unknown: throw .unavailable(status: 0)
    }
  }

  /// Discovery, both documents joined; the issuer must be just the one that was configured (RFC 8414 §3.3), but for
  /// what a preset knows (`IssuerPattern`).
  ///
  /// `wholly`: a document that might be there and can't be had now counts as no answer, since what only it tells would
  /// be missing.
  package func discover(wholly: Bool = false) async throws(DocumentFailure) -> ServerMetadata {
    let issuer = provider.configuration.issuer
    let read: (JSONNode) -> ServerMetadata? = { node in
      ServerMetadata(node).flatMap { provider.isItself($0.issuer) ? $0 : nil }
    }
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    var second: ServerMetadata?
    if let url = HTTPURL(issuer) {
      // RFC 8414 §3.1 puts the well-known part between host and path.
      let path = url.path == "/" ? "" : url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
      do {
        second = try await document(url.origin + "/.well-known/oauth-authorization-server" + path, read)
      } catch {
        if wholly, error.isInconclusive { throw error }
      }
    }
    do {
      return try await document(base + "/.well-known/openid-configuration", read).joined(with: second)
    } catch {
      // One that is there and names another issuer is a reason to change nothing of what was known.
      let isDoubtful = if case .malformed = error { true } else { error.isInconclusive }
      guard let second, !(wholly && isDoubtful) else { throw error }
      return second
    }
  }

  /// A sign of life: the provider answers the request for its metadata, though perhaps without having any. An error of
  /// the server or of a gateway before it is none.
  package func answers() async -> Bool {
    let issuer = provider.configuration.issuer
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    let fields = [HTTPField("Accept", "application/json")]
    switch await send(request("GET", base + "/.well-known/openid-configuration", fields: fields, body: nil)) {
    case .response(let response): return response.status < 500
    case .notConnected, .untrusted, .unknown: return false
    }
  }

  package func send(_ request: HTTPRequest) async -> HTTPOutcome {
    await dependencies.http.send(request)
  }

  package func request(_ method: String, _ url: String, fields: [HTTPField], body: Secret?) -> HTTPRequest {
    let host = HTTPURL(url)?.host ?? ""
    let pins = provider.configuration.pins(of: host, at: dependencies.time.now(for: provider.configuration.name))
    var request = HTTPRequest(method: method, url: url, fields: fields, body: body, pins: pins)
    request.certificateAuthorities = provider.configuration.caFile
    request.proxy = provider.configuration.proxy
    return request
  }
}
