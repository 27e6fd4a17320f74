package import AgentCore
internal import AgentModel
internal import AgentPorts
internal import Secrets

/// Asks each endpoint of a provider something that changes nothing there, so that it is known before a sign-in what
/// works. No request carries a token that was ever issued.
package struct EndpointTrials: Sendable {
  let client: ProviderClient

  package enum Answer: Sendable, Equatable {
    /// As an endpoint answers to a client that it knows.
    case works
    /// The client's id or its secret is wrong. The error's word, if it was told.
    case clientRefused(error: String?)
    case refused(error: String?, status: Int)
    /// A redirect to a page that seems to tell an error: a person has to look.
    case unclear
    /// A redirect to what no sign-in leads to: a script, a program, or a page without TLS.
    case misled
    /// By its own word there is no such endpoint.
    case notThere
    /// No answer, or none that can be trusted.
    case failed(ExchangeFailure)
  }

  /// A refresh with a token that was never issued: a server that knows the client refuses the token alone.
  package func token() async -> Answer {
    var form = FormBody()
    form.append("grant_type", "refresh_token")
    form.append("refresh_token", neverIssued)
    let outcome = await client.exchange(form)
    // In whatever words the provider has for a dead token.
    if case .response(let response) = outcome,
      case .reauthenticate = client.classify(TokenEndpointRefusal(response, now: client.now))
    {
      return .works
    }
    return judge(outcome, passing: Self.tokenRefusals)
  }

  /// RFC 7009 §2.2: a token that the server does not know counts as revoked.
  package func revocation(at endpoint: String) async -> Answer {
    let form = FormBody.naming(neverIssued, .refreshToken).finish()
    return judge(
      await client.send(form, to: endpoint, boundTo: nil),
      passing: RevocationOutbox.errorsOfTheToken.union(["unsupported_token_type"]))
  }

  /// Begins a device flow, which ends by itself since no person is given its code.
  package func device(at endpoint: String) async -> Answer {
    let configuration = client.provider.configuration
    let form = FormBody.deviceAuthorization(scopes: configuration.scopes, at: configuration).finish()
    return judge(await client.send(form, to: endpoint, naming: true, boundTo: nil), passing: [])
  }

  /// The beginning of a sign-in, as far as it goes without a person: pushed where the provider takes that, else the
  /// first page. A server that shows its refusals in a page with status 200 can't be told from one that agrees.
  package func authorization(at endpoint: String) async -> (answer: Answer, redirectURI: String) {
    let configuration = client.provider.configuration
    let uri = configuration.redirect.unattendedURI(client.dependencies.entropy)
    let request = AuthorizationRequest(redirectURI: uri, entropy: client.dependencies.entropy)
    let parameters = request.parameters(of: configuration, scopes: configuration.scopes, prompt: nil, loginHint: nil)
    if let push = client.provider.endpoints.pushedAuthorizationRequest {
      let form = FormBody.pushedAuthorization(parameters).finish()
      return (judge(await client.send(form, to: push, naming: true, boundTo: nil), passing: []), uri)
    }
    guard let url = HTTPURL(endpoint)?.adding(parameters) else { return (.notThere, uri) }
    let fields = [HTTPField("Accept", "text/html")]
    let outcome = await client.send(client.request("GET", url, fields: fields, body: nil))
    guard case .response(let response) = outcome else { return (judge(outcome, passing: []), uri) }
    switch response.status {
    case 300...399:
      return (Self.meaning(ofRedirectTo: response.field("Location"), status: response.status, uri: uri), uri)
    case 200...299: return (.works, uri)
    default: return (judge(outcome, passing: []), uri)
    }
  }

  /// An error comes back to the redirect URI (RFC 6749 §4.1.2.1), or to a page of the provider where the URI or the client is
  /// unknown. `uri`: the redirect URI.
  package static func meaning(ofRedirectTo place: String?, status: Int, uri: String) -> Answer {
    guard let place, !place.isEmpty else { return .unclear }
    guard leadsToAPage(place) else { return .misled }
    let fragment = place.drop { $0 != "#" }.dropFirst()
    let query = place.prefix { $0 != "#" }.drop { $0 != "?" }.dropFirst()
    for text in [query, fragment] {
      if let error = SecretQuery(Secret(text: String(text)))?.text("error"), !error.isEmpty {
        return .refused(error: AuthorizationAnswer.known(error), status: status)
      }
    }
    let page = place.prefix { $0 != "?" && $0 != "#" }
    if page == uri { return .works }
    let words = page.lowercased().split { !$0.isLetter }
    return words.contains { Self.wordsOfErrorPages.contains(String($0)) } ? .unclear : .works
  }

  /// False for a URL of another scheme than `https`, or than `http` on this machine. A reference without a scheme stays
  /// at the provider (RFC 3986 §4.2). Browsers pass over control characters and spaces (WHATWG URL, basic parser).
  private static func leadsToAPage(_ place: String) -> Bool {
    let text = String(decoding: place.utf8.filter { $0 > 0x20 && $0 != 0x7F }, as: UTF8.self)
    let start = text.prefix { $0 != ":" && $0 != "/" && $0 != "?" && $0 != "#" && $0 != "\\" }
    guard text.dropFirst(start.count).first == ":" else { return true }
    switch start.lowercased() {
    case "https": return true
    case "http": return HTTPURL(String(text.prefix { $0 != "?" && $0 != "#" }))?.isLoopback ?? false
    default: return false
    }
  }

  private static let wordsOfErrorPages: Set = [
    "error", "errors", "failed", "failure", "invalid", "denied", "forbidden",
  ]

  /// The words of a server that knows the client, and not the refresh token, beside those that the tables have.
  private static let tokenRefusals: Set = ["invalid_grant", "bad_refresh_token", "expired_token"]
  /// The words of a server that wants a proof of possession, which no trial has: they come after the client was known.
  private static let proofRefusals: Set = ["invalid_dpop_proof", "use_dpop_nonce"]
  private static let clientRefusals: Set = ["invalid_client", "unauthorized_client", "incorrect_client_credentials"]

  private var neverIssued: Secret { .randomText(byteCount: 32, client.dependencies.entropy) }

  /// `passing`: the errors that a server tells to a client that it knows.
  private func judge(_ outcome: HTTPOutcome, passing: Set<String>) -> Answer {
    switch outcome {
    case .response(let response):
      let refusal = TokenEndpointRefusal(response, now: client.now)
      // It says nothing of the client, whatever words come with it.
      if response.status == 429 || response.status >= 500, response.status != 501 {
        return .failed(.transient("status \(response.status)", retryAfter: nil))
      }
      if let error = refusal.error {
        let wantsProof = client.provider.bindsTokens && Self.proofRefusals.contains(error)
        if passing.contains(error) || wantsProof { return .works }
        // As a rate limit with 400, which says nothing of the client either.
        if case .transient(let word, _) = client.classify(refusal) { return .failed(.transient(word, retryAfter: nil)) }
        let isOfClient = Self.clientRefusals.contains(error)
        return isOfClient ? .clientRefused(error: error) : .refused(error: error, status: response.status)
      }
      switch response.status {
      case 200...299: return .works
      case 401: return .clientRefused(error: nil)
      case 404, 405, 410, 501: return .notThere
      default: return .refused(error: nil, status: response.status)
      }
    case .notConnected(let failure): return .failed(.offline(failure))
    case .untrusted(let reason): return .failed(.untrustedServer(reason))
    case .unknown: return .failed(.transient("noAnswer", retryAfter: nil))
    }
  }
}

extension ProviderClient {
  /// What works without a sign-in.
  package var trials: EndpointTrials { EndpointTrials(client: self) }
}
