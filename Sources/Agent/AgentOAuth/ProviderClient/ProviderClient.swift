package import AgentCore
package import AgentModel
package import AgentPorts
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
    package var subjectTokens: any SubjectTokenFiles
    package var nonces: DPoPNonces
    package var refusals: ProviderRefusals?

    package init(
      http: any HTTPExchange, clock: any AgentClock, entropy: any Entropy, keys: any ClientKeySigner,
      signatures: any SignatureVerifier, time: any ProviderClock,
      subjectTokens: any SubjectTokenFiles = NoSubjectTokenFiles(), nonces: DPoPNonces = DPoPNonces(),
      refusals: ProviderRefusals? = nil
    ) {
      self.http = http
      self.clock = clock
      self.entropy = entropy
      self.keys = keys
      self.signatures = signatures
      self.time = time
      self.subjectTokens = subjectTokens
      self.nonces = nonces
      self.refusals = refusals
    }
  }

  package init(provider: Provider, dependencies: Dependencies) {
    self.provider = provider
    self.dependencies = dependencies
  }

  var clock: any AgentClock { dependencies.clock }
  /// The provider's time.
  var now: Timestamp { dependencies.time.calendarTime(of: provider.configuration.name) }
  var signatures: any SignatureVerifier { dependencies.signatures }

  /// The public documents of the provider.
  package var documents: ProviderDocuments { ProviderDocuments(client: self) }
  /// What proves that the agent has the key of a bound token.
  package var proofs: ProofIssuer { ProofIssuer(provider: provider.configuration.name, dependencies: dependencies) }

  // MARK: answers

  func recordTime(_ response: HTTPResponse) {
    dependencies.time.answered(
      by: provider.configuration.name, date: response.field("Date"), sentAt: response.sentAt,
      receivedAt: response.receivedAt)
  }

  /// `isBound`: the request had a proof of possession.
  package func meaning(of refusal: TokenEndpointRefusal, isBound: Bool = false) -> ExchangeFailure {
    dependencies.refusals?.record(refusal, from: provider.configuration.name, hiding: provider.clientSecret)
    return classify(refusal, isBound: isBound)
  }

  /// What a refusal means at this provider, for one that is not kept.
  func classify(_ refusal: TokenEndpointRefusal, isBound: Bool = false) -> ExchangeFailure {
    FailureClassifier.classify(
      refusal, codes: provider.configuration.errorCodes, table: provider.preset?.failures, isBound: isBound)
  }

  // MARK: requests

  /// The key with which the server at this origin proves itself, whatever pins it has.
  package func serverKey(at origin: String) async -> ServerKey {
    await dependencies.http.serverKey(for: request("GET", origin + "/", fields: [], body: nil))
  }

  package func send(_ request: HTTPRequest) async -> HTTPOutcome {
    await dependencies.http.send(request)
  }

  package func request(_ method: String, _ url: String, fields: [HTTPField], body: Secret?) -> HTTPRequest {
    guard let parsed = HTTPURL(url) else {
      return withConnectionSettings(HTTPRequest(method: method, url: url, fields: fields, body: body))
    }
    return request(method, to: parsed, fields: fields, body: body)
  }

  package func request(_ method: String, to url: HTTPURL, fields: [HTTPField], body: Secret?) -> HTTPRequest {
    withConnectionSettings(HTTPRequest(method: method, to: url, fields: fields, body: body, pins: pins(of: url.host)))
  }

  /// The pins of a host that count now.
  package func pins(of host: String) -> [String] { provider.configuration.pins(of: host, at: now) }

  /// What counts for requests to the provider's servers, but for the pins of their hosts.
  package var trust: TrustSettings {
    dependencies.http.trust(of: withConnectionSettings(HTTPRequest(method: "GET", url: provider.configuration.issuer)))
  }

  /// Sets the provider's authorities and proxy.
  private func withConnectionSettings(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    request.certificateAuthorities = provider.configuration.caFile
    request.proxy = provider.configuration.proxy
    return request
  }
}
