public import AgentModel
internal import JSONRPC

/// A JWK Set (RFC 7517 §5). Keys that are unknown, unreadable or not for signatures are ignored, as §5 requires.
public struct JWKSet: Sendable {
  /// Maximum length in bytes. With certificates, large issuers publish about 20 KiB.
  public static let maximumBytes = 256 << 10
  /// Maximum number of keys: each candidate costs a signature check.
  public static let maximumKeys = 64

  /// A key of the set.
  public struct Key: Sendable, Equatable {
    public var keyID: String?
    /// The key's `alg`, if it has one; the key serves no other algorithm.
    public var algorithm: SignatureAlgorithm?
    public var publicKey: PublicKey
  }

  public let keys: [Key]

  /// Parses a document.
  ///
  /// - Throws: `IDTokenFailure.keySetMalformed` if it is no JWK Set.
  public init(parsing document: UnsafeRawBufferPointer) throws(IDTokenFailure) {
    guard document.count <= Self.maximumBytes else { throw .keySetMalformed }
    keys = try StrictJSON.object(document, or: .keySetMalformed) { (root) throws(IDTokenFailure) in
      guard let list = root["keys"], list.kind == .array else { throw .keySetMalformed }
      return Array(list.elements.lazy.compactMap(Self.key).prefix(Self.maximumKeys))
    }
  }

  /// The keys that may have signed `token`: those with its `kid`, else those without one. If the token has no `kid`,
  /// all that fit its algorithm.
  ///
  /// - Throws: `IDTokenFailure.keyNotFound` if there is none.
  public func candidates(for token: CompactJWT) throws(IDTokenFailure) -> [PublicKey] {
    let fitting = keys.filter { key in
      key.publicKey.serves(token.algorithm) && (key.algorithm ?? token.algorithm) == token.algorithm
    }
    guard let wanted = token.keyID else {
      guard !fitting.isEmpty else { throw .keyNotFound }
      return fitting.map(\.publicKey)
    }
    let named = fitting.filter { $0.keyID.map { equalCodePoints($0, wanted) } ?? false }
    let candidates = named.isEmpty ? fitting.filter { $0.keyID == nil } : named
    guard !candidates.isEmpty else { throw .keyNotFound }
    return candidates.map(\.publicKey)
  }

  private static func key(_ node: JSONNode) -> Key? {
    guard node.kind == .object, let type = node["kty"]?.string else { return nil }
    if let use = node["use"], !use.isText("sig") { return nil }
    if let operations = node["key_ops"], !operations.elements.contains(where: { $0.isText("verify") }) { return nil }
    var algorithm: SignatureAlgorithm?
    if let name = node["alg"] {
      algorithm = name.string.flatMap(SignatureAlgorithm.init(rawValue:))
      guard algorithm != nil else { return nil }
    }
    func number(_ name: StaticString) -> [UInt8]? { node[name]?.plainText.flatMap { Base64URL.decode($0) } }
    let publicKey: PublicKey
    switch (type, node["crv"]?.string) {
    case ("RSA", _):
      guard let modulus = number("n"), let exponent = number("e") else { return nil }
      publicKey = .rsa(modulus: modulus, exponent: exponent)
    case ("EC", let curve?) where curve == "P-256" || curve == "P-384":
      guard let x = number("x"), let y = number("y") else { return nil }
      publicKey = .ellipticCurve(curve: curve, x: x, y: y)
    case ("OKP", "Ed25519"):
      guard let x = number("x") else { return nil }
      publicKey = .ed25519(x: x)
    default: return nil
    }
    return Key(keyID: node["kid"]?.string, algorithm: algorithm, publicKey: publicKey)
  }
}
