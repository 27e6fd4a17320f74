internal import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// The private key by which a client authenticates itself, as the person gave it: PEM, or a JWK (RFC 7517).
package struct ClientKey: Sendable {
  package var material: PrivateKey
  /// The JWK's, by which the provider finds the public half (RFC 7515 §4.1.4). PEM has none.
  var keyID: String?
  /// The JWK's, if it says which one.
  var algorithm: SignatureAlgorithm?

  /// Nil if it is neither.
  package init?(_ text: Secret) {
    let isJSON = text.withBytes { bytes in
      bytes.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "{")
    }
    guard isJSON else {
      self.init(material: .pem(text))
      return
    }
    guard let key = SecretJSON.read(text, Self.read) else { return nil }
    self = key
  }

  private init(material: PrivateKey, keyID: String? = nil, algorithm: SignatureAlgorithm? = nil) {
    (self.material, self.keyID, self.algorithm) = (material, keyID, algorithm)
  }

  private static func read(_ node: JSONNode) -> ClientKey? {
    guard let material = material(node) else { return nil }
    var algorithm: SignatureAlgorithm?
    if let name = node["alg"] {
      algorithm = name.string.flatMap(SignatureAlgorithm.init)
      guard algorithm != nil else { return nil }
    }
    if let use = node["use"], !use.isText("sig") { return nil }
    return ClientKey(material: material, keyID: node["kid"]?.string, algorithm: algorithm)
  }

  /// RFC 7518 §6.2.2 and §6.3.2, RFC 8037 §2.
  private static func material(_ node: JSONNode) -> PrivateKey? {
    switch (node["kty"]?.string, node["crv"]?.string) {
    case ("RSA"?, _):
      guard let modulus = node["n"]?.number, let exponent = node["e"]?.number else { return nil }
      // A JWK may omit the factors (§6.3.2), but without them the agent can't tell whether the halves belong together.
      let names = ["d", "p", "q", "dp", "dq", "qi"] as [StaticString]
      let numbers = names.compactMap { node[$0]?.secretNumber }
      guard numbers.count == names.count else { return nil }
      return .rsa(modulus: modulus, exponent: exponent, private: numbers)
    case ("EC"?, let curve?) where curve == "P-256" || curve == "P-384":
      guard let x = node["x"]?.number, let y = node["y"]?.number, let scalar = node["d"]?.secretNumber else {
        return nil
      }
      return .ellipticCurve(curve: curve, x: x, y: y, scalar: scalar)
    case ("OKP"?, "Ed25519"?): return node["d"]?.secretNumber.map { .ed25519(seed: $0) }
    default: return nil
    }
  }
}

extension JSONNode {
  fileprivate var number: [UInt8]? { plainText.flatMap { Base64URL.decode($0) } }

  /// The same from one guarded place into another.
  var secretNumber: Secret? {
    guard let text = plainText else { return nil }
    var isWhole = false
    let bytes = SecretBytes(capacity: text.count) { target in
      guard let count = Base64URL.decode(text, into: target) else { return 0 }
      isWhole = true
      return count
    }
    return isWhole ? Secret(bytes) : nil
  }
}
