internal import StreamingHTTP

/// An access token of the account, for one request.
struct Credential {
  /// `Bearer` or `DPoP`.
  let scheme: String
  let token: WipedBytes
  let fingerprint: String
  let account: String
  let scopes: [String]
  /// For a bound token: the proof of this request.
  var proof: WipedBytes?

  func add(to request: inout OutgoingRequest) {
    let value = WipedBytes(capacity: scheme.utf8.count + 1 + token.count)
    value.append(scheme + " ")
    token.withBytes { value.append($0) }
    request.fields.append(RequestField("Authorization", secret: value))
    if let proof { request.fields.append(RequestField("DPoP", secret: proof)) }
  }
}
