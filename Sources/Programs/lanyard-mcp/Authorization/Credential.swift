internal import AgentCore
internal import AgentModel
internal import CommandSupport
internal import JSONRPC
internal import StreamingHTTP

/// An access token or a secret of the account, for one request.
struct Credential {
  /// Where it stands in the request.
  let placement: SecretPlacement
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
    // RFC 6750 section 2.1 and RFC 9449 section 7.1: the scheme is the type's name. A secret has a place of its own.
    let named = node["placement"].map { SecretPlacement($0) } ?? (type.lowercased() == "dpop" ? .dpop : .bearer)
    guard let placement = named else { throw .notUnderstood }
    self.placement = placement
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

  /// It is bound to a key: each request has a proof.
  var wantsProof: Bool { placement == .dpop }

  func add(to request: inout OutgoingRequest) {
    token.withBytes { request.place($0, at: placement) }
    if let proof { request.fields.append(RequestField("DPoP", secret: proof)) }
  }
}
