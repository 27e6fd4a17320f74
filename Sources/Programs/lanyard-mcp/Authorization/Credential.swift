internal import AgentCore
internal import AgentModel
internal import CommandSupport
internal import JSONRPC
internal import StreamingHTTP

/// An access token of the account, for one request.
struct Credential {
  /// `Bearer` or `DPoP`.
  let scheme: String
  let token: WipedBytes
  let fingerprint: String
  let scopes: [String]
  /// How the server is reached and trusted.
  var trust = TrustSettings()
  /// For a bound token: the proof of this request.
  var proof: WipedBytes?

  /// From the result of `token.get`.
  init(_ node: JSONNode) throws(CommandFailure) {
    guard let type = node["tokenType"]?.string, let fingerprint = node["fingerprint"]?.string else {
      throw .notUnderstood
    }
    scheme = type.lowercased() == "dpop" ? "DPoP" : "Bearer"
    token = try Self.secret(node["accessToken"])
    self.fingerprint = fingerprint
    scopes = node["scopes"]?.elements.compactMap(\.string) ?? []
  }

  /// Copies a secret from the agent's line, which is wiped.
  static func secret(_ node: JSONNode?) throws(CommandFailure) -> WipedBytes {
    guard let node, node.kind == .string else { throw .notUnderstood }
    let bytes = WipedBytes(capacity: node.textCapacity)
    bytes.append(capacity: node.textCapacity) { node.copyText(into: $0) }
    return bytes
  }

  /// The server repeats the token in what it says.
  func isRepeated(in text: String) -> Bool {
    var text = text
    return text.withUTF8 { isRepeated(in: UnsafeRawBufferPointer($0)) }
  }

  func isRepeated(in bytes: UnsafeRawBufferPointer) -> Bool {
    token.withBytes { RepeatedToken.occurs($0, in: bytes) }
  }

  func add(to request: inout OutgoingRequest) {
    let value = WipedBytes(capacity: scheme.utf8.count + 1 + token.count)
    value.append(scheme + " ")
    token.withBytes { value.append($0) }
    request.fields.append(RequestField("Authorization", secret: value))
    if let proof { request.fields.append(RequestField("DPoP", secret: proof)) }
  }
}
