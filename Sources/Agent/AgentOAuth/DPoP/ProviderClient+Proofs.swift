internal import AgentCore
package import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// An access token with the key that it is bound to.
package struct AccessCredential: Sendable {
  package var token: Secret
  /// Nil for a bearer token.
  package var key: DeviceKey?

  package init(_ token: Secret, boundTo key: DeviceKey?) { (self.token, self.key) = (token, key) }
}

/// How one request is authorized.
package struct RequestAuthorization: Sendable {
  package var fields: [HTTPField]
  /// The nonce in its proof.
  var nonce: String?
  /// The time in its proof.
  var time: Timestamp?
  /// A proof is for one sending: a server that has seen it refuses it.
  package var hasProof: Bool { time != nil }
}

/// Proofs of possession (docs/dpop.md).
extension ProviderClient {
  /// A proof for one request. Nil without a cryptographic library.
  package func proof(
    for method: String, _ url: HTTPURL, by key: DeviceKey, accessToken: Secret?, nonce: String?
  ) -> Secret? {
    DPoPProof(
      method: method, url: url, id: Base64URL.encode(dependencies.entropy.bytes(DPoPProof.idBytes)),
      now: dependencies.time.now(for: provider.configuration.name), accessToken: accessToken, nonce: nonce
    ).signed(by: key, with: dependencies.keys)
  }

  /// The authorization of a request to a resource server. Nil without a cryptographic library, if the token is bound.
  /// `nonce`: of the refusal of this request; otherwise the last one that the server told.
  package func authorization(
    by credential: AccessCredential, for method: String, _ url: HTTPURL, nonce: String? = nil
  ) -> RequestAuthorization? {
    guard let key = credential.key else { return RequestAuthorization(fields: [.bearer(credential.token)]) }
    let nonce = nonce ?? dependencies.nonces.nonce(for: .resources, at: url, by: key)
    guard let proof = proof(for: method, url, by: key, accessToken: credential.token, nonce: nonce) else { return nil }
    return RequestAuthorization(
      fields: [.dpop(credential.token), HTTPField("DPoP", secret: proof)], nonce: nonce,
      time: dependencies.time.now(for: provider.configuration.name))
  }

  /// Remembers the nonce of a resource server's response, and returns it if it is not the one that the request had.
  ///
  /// The nonce of a refusal is for the repetition of that request, and is remembered once that is served: other requests
  /// at the same time would use up one that is good for a few.
  package func hearNonce(
    of response: HTTPResponse, from url: HTTPURL, by credential: AccessCredential, to request: RequestAuthorization
  ) -> String? {
    guard let key = credential.key else { return nil }
    let told = DPoPNonces.told(by: response)
    let isRefusal = response.status == 401 && NonceRefusal.isOne(response.challenges)
    if !isRefusal, let nonce = told ?? request.nonce {
      dependencies.nonces.hear(nonce, for: .resources, at: url, by: key)
    }
    return told == request.nonce ? nil : told
  }

  /// Sends a request to a resource server; once more if it refuses the nonce of the proof and tells another, since it
  /// has not processed such a request (RFC 9449 §9).
  func send(_ request: HTTPRequest, authorizedBy credential: AccessCredential) async -> HTTPOutcome {
    guard let url = HTTPURL(request.url) else { return .notConnected(.invalidURL) }
    var renewed: String?
    while true {
      guard let authorization = authorization(by: credential, for: request.method, url, nonce: renewed) else {
        return .notConnected(.other)
      }
      var sent = request
      sent.fields += authorization.fields
      let outcome = await send(sent)
      guard case .response(let response) = outcome,
        let nonce = hearNonce(of: response, from: url, by: credential, to: authorization), renewed == nil,
        response.status == 401, NonceRefusal.isOne(response.challenges)
      else { return outcome }
      renewed = nonce
    }
  }

  // MARK: authorization server

  /// Sends a form, with the client's authentication (`naming` as in `authenticate`) and, by a `device`, with a proof. If
  /// the server refuses the proof and tells what is missing in it, the form is sent once more: it was not processed.
  func send(
    _ parameters: Secret, to endpoint: String, naming: Bool = false, boundTo device: DeviceKey?,
    beforeSending: (@Sendable () async -> Bool)? = nil
  ) async -> HTTPOutcome {
    guard let url = HTTPURL(endpoint) else { return .notConnected(.invalidURL) }
    var isAgain = false
    var nonce: String?
    while true {
      // A client's assertion is for one request, too.
      var form = FormBody(continuing: parameters)
      guard let fields = authenticate(&form, at: endpoint, naming: naming) else { return .notConnected(.other) }
      var request = request("POST", endpoint, fields: fields, body: form.finish())
      request.beforeSending = beforeSending
      guard let device else {
        let outcome = await send(request)
        if case .response(let response) = outcome { hearTime(response) }
        return outcome
      }
      guard let proof = tokenProof(at: url, by: device, nonce: nonce) else { return .notConnected(.other) }
      request.fields += proof.fields
      let outcome = await send(request)
      guard case .response(let response) = outcome else { return outcome }
      hearTime(response)
      guard mayBeProvenAnew(after: response, from: url, for: device, to: proof), !isAgain else { return outcome }
      (isAgain, nonce) = (true, DPoPNonces.told(by: response))
    }
  }

  /// The proof of a request to the token endpoint. Nil without a cryptographic library.
  func tokenProof(at url: HTTPURL, by key: DeviceKey, nonce: String?) -> RequestAuthorization? {
    let nonce = nonce ?? dependencies.nonces.nonce(for: .tokens, at: url, by: key)
    let time = dependencies.time.now(for: provider.configuration.name)
    guard let proof = proof(for: "POST", url, by: key, accessToken: nil, nonce: nonce) else { return nil }
    return RequestAuthorization(fields: [HTTPField("DPoP", secret: proof)], nonce: nonce, time: time)
  }

  /// Remembers the nonce of a token endpoint's response. True if the request was refused for its proof, and not
  /// processed, and a new proof would be another: the response told another nonce (RFC 9449 §8), or the provider's time,
  /// which the agent did not know before.
  func mayBeProvenAnew(
    after response: HTTPResponse, from url: HTTPURL, for key: DeviceKey, to request: RequestAuthorization
  ) -> Bool {
    let nonce = DPoPNonces.told(by: response)
    if let nonce { dependencies.nonces.hear(nonce, for: .tokens, at: url, by: key) }
    guard response.status == 400 || response.status == 401 else { return false }
    switch TokenEndpointRefusal(response, now: clock.wall()).error {
    case NonceRefusal.error?: return nonce != nil && nonce != request.nonce
    case "invalid_dpop_proof"?:
      let drift = request.time.map { dependencies.time.now(for: provider.configuration.name) - $0 } ?? .zero
      return drift > Self.drift || .zero - drift > Self.drift
    default: return false
    }
  }

  /// Servers accept proofs for some seconds at least (RFC 9449 §11.1), and no request waits that long for its response
  /// but by accident.
  private static let drift = Milliseconds.seconds(30)
}

extension HTTPResponse {
  /// The values of `WWW-Authenticate`.
  package var challenges: [String] { fields.filter { $0.name.lowercased() == "www-authenticate" }.map(\.value) }
}
