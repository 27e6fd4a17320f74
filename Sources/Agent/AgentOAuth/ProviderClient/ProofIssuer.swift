internal import AgentCore
package import AgentModel
package import AgentPorts
package import Secrets

/// How one request is authorized.
package struct RequestAuthorization: Sendable {
  /// Nil for a request to the token endpoint, whose form has what it is authorized by.
  fileprivate var credential: AccessCredential?
  fileprivate var proof: Secret?
  /// The nonce in its proof.
  package var nonce: String?
  /// The time in its proof.
  var time: Timestamp?
  /// A proof is for one sending: a server that has seen it refuses it.
  package var hasProof: Bool { time != nil }

  /// Puts the credential and its proof to their places in the request.
  package func authorize(_ request: inout HTTPRequest) {
    if let credential { request.place(credential.token, at: credential.placement) }
    if let proof { request.fields.append(HTTPField("DPoP", secret: proof)) }
  }
}

/// Makes proofs of possession for requests to one provider and its resource servers, and remembers the servers' nonces
/// (docs/dpop.md).
package struct ProofIssuer: Sendable {
  let provider: ProviderName
  let dependencies: ProviderClient.Dependencies

  /// A proof for one request. Nil without a cryptographic library.
  package func proof(
    for method: String, _ url: HTTPURL, by key: DeviceKey, accessToken: Secret?, nonce: String?
  ) -> Secret? {
    DPoPProof(
      method: method, url: url, id: Base64URL.encode(dependencies.entropy.bytes(DPoPProof.idBytes)),
      now: dependencies.time.calendarTime(of: provider), accessToken: accessToken, nonce: nonce
    ).signed(by: key, with: dependencies.keys)
  }

  /// The authorization of a request to a resource server. Nil without a cryptographic library, if the token is bound.
  /// `nonce`: of the refusal of this request; otherwise the last one that the server told.
  package func authorization(
    by credential: AccessCredential, for method: String, _ url: HTTPURL, nonce: String? = nil
  ) -> RequestAuthorization? {
    guard let key = credential.key else { return RequestAuthorization(credential: credential) }
    let nonce = nonce ?? dependencies.nonces.nonce(for: .resources, at: url, by: key)
    guard let proof = proof(for: method, url, by: key, accessToken: credential.token, nonce: nonce) else { return nil }
    return RequestAuthorization(
      credential: credential, proof: proof, nonce: nonce, time: dependencies.time.calendarTime(of: provider))
  }

  /// Remembers the nonce of a resource server's response, and returns it if it is not the one that the request had.
  ///
  /// The nonce of a refusal is for the repetition of that request, and is remembered once that is served: other requests
  /// at the same time would use up one that is good for a few.
  package func rememberNonce(
    of response: HTTPResponse, from url: HTTPURL, by credential: AccessCredential, to request: RequestAuthorization
  ) -> String? {
    guard let key = credential.key else { return nil }
    let told = DPoPNonces.told(by: response)
    let isRefusal = response.status == 401 && NonceRefusal.isOne(response.challenges)
    if !isRefusal, let nonce = told ?? request.nonce {
      dependencies.nonces.remember(nonce, for: .resources, at: url, by: key)
    }
    return told == request.nonce ? nil : told
  }

  // MARK: authorization server

  /// The proof of a request to the token endpoint. Nil without a cryptographic library.
  func tokenProof(at url: HTTPURL, by key: DeviceKey, nonce: String?) -> RequestAuthorization? {
    let nonce = nonce ?? dependencies.nonces.nonce(for: .tokens, at: url, by: key)
    let time = dependencies.time.calendarTime(of: provider)
    guard let proof = proof(for: "POST", url, by: key, accessToken: nil, nonce: nonce) else { return nil }
    return RequestAuthorization(proof: proof, nonce: nonce, time: time)
  }

  /// Remembers the nonce of a token endpoint's response. True if the request was refused for its proof, and not
  /// processed, and a new proof would be another: the response told another nonce (RFC 9449 §8), or the provider's time,
  /// which the agent did not know before.
  func mayBeProvenAnew(
    after response: HTTPResponse, from url: HTTPURL, for key: DeviceKey, to request: RequestAuthorization
  ) -> Bool {
    let nonce = DPoPNonces.told(by: response)
    if let nonce { dependencies.nonces.remember(nonce, for: .tokens, at: url, by: key) }
    // RFC 9449 §5 means 400; Glewlwyd answers 403.
    guard [400, 401, 403].contains(response.status) else { return false }
    switch TokenEndpointRefusal(response, now: dependencies.time.calendarTime(of: provider)).error {
    case NonceRefusal.error?: return nonce != nil && nonce != request.nonce
    case "invalid_dpop_proof"?:
      let drift = request.time.map { dependencies.time.calendarTime(of: provider) - $0 } ?? .zero
      return drift > Self.drift || .zero - drift > Self.drift
    default: return false
    }
  }

  /// Servers accept proofs for some seconds at least (RFC 9449 §11.1), and no request waits that long for its response
  /// but by accident.
  private static let drift = Milliseconds.seconds(30)
}
