internal import AgentCore
internal import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
internal import Secrets

/// Requests with proofs of possession (docs/dpop.md).
extension ProviderClient {
  /// Sends a request to a resource server; once more if it refuses the nonce of the proof and tells another, since it
  /// has not processed such a request (RFC 9449 §9).
  func send(_ request: HTTPRequest, authorizedBy credential: AccessCredential) async -> HTTPOutcome {
    guard let url = HTTPURL(request.url) else { return .notConnected(.invalidURL) }
    var renewed: String?
    while true {
      guard let authorization = proofs.authorization(by: credential, for: request.method, url, nonce: renewed) else {
        return .notConnected(.other)
      }
      var sent = request
      authorization.authorize(&sent)
      let outcome = await send(sent)
      guard case .response(let response) = outcome,
        let nonce = proofs.rememberNonce(of: response, from: url, by: credential, to: authorization), renewed == nil,
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
        let outcome = await send(request).answering(request.body)
        if case .response(let response) = outcome { recordTime(response) }
        return outcome
      }
      guard let proof = proofs.tokenProof(at: url, by: device, nonce: nonce) else { return .notConnected(.other) }
      proof.authorize(&request)
      let outcome = await send(request).answering(request.body)
      guard case .response(let response) = outcome else { return outcome }
      recordTime(response)
      guard proofs.mayBeProvenAnew(after: response, from: url, for: device, to: proof), !isAgain else { return outcome }
      (isAgain, nonce) = (true, DPoPNonces.told(by: response))
    }
  }

}

extension HTTPResponse {
  /// The values of `WWW-Authenticate`.
  package var challenges: [String] { fields.filter { FieldSyntax.isName($0.name, "www-authenticate") }.map(\.value) }
}

extension HTTPOutcome {
  /// The same with the form that was sent.
  fileprivate func answering(_ form: Secret?) -> HTTPOutcome {
    guard case .response(var response) = self else { return self }
    response.form = form
    return .response(response)
  }
}
