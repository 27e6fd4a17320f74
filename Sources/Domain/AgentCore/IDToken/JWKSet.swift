public import AgentModel
internal import JSONRPC

/// A JWK Set (RFC 7517 §5). Keys that are unknown, unreadable or not for signatures are ignored, as §5 requires.
public struct JWKSet: Sendable {
  /// Maximum length in bytes, as of every document. With certificates, large issuers publish about 20 KiB.
  public static let maximumBytes = 1 << 20
  /// Maximum number of keys that are tried for one token: each costs a signature check.
  public static let maximumCandidates = 64

  /// A key of the set.
  public struct Key: Sendable, Equatable {
    public var keyID: String?
    /// The key's `alg`, if it has one; the key serves no other algorithm.
    public var algorithm: SignatureAlgorithm?
    public var publicKey: PublicKey
  }

  public let keys: [Key]

  /// Parses a document. A key that can't be read, or that has a member twice, hides no other; null is as absent
  /// (docs/identity.md, Key sets).
  ///
  /// - Throws: `IDTokenFailure.keySetMalformed` if it is no JWK Set.
  public init(parsing document: UnsafeRawBufferPointer) throws(IDTokenFailure) {
    guard document.count <= Self.maximumBytes else { throw .keySetMalformed }
    keys = try StrictJSON.object(document, or: .keySetMalformed, duplicateKeys: .allowed) {
      (root) throws(IDTokenFailure) in
      let lists = root.members.filter { $0.key.isText("keys") }
      guard lists.count == 1, let list = lists.first?.value, list.kind == .array else { throw .keySetMalformed }
      return list.elements.compactMap(Self.key)
    }
  }

  /// The keys that may have signed `token`: those with its `kid`, else those without one. If the token has no `kid`,
  /// all that fit its algorithm.
  ///
  /// `announced`: the algorithms that the issuer's metadata lists; empty if it lists none. A token has one of them
  /// (OpenID Connect Core §3.1.3.7, 7), unless the key itself names another.
  ///
  /// - Throws: `IDTokenFailure.keyNotFound` if there is none, `.algorithmNotAllowed` if only the announcement is
  ///   against it.
  public func candidates(for token: CompactJWT, announced: [String] = []) throws(IDTokenFailure) -> [PublicKey] {
    let fitting = keys.filter { key in
      key.publicKey.serves(token.algorithm) && (key.algorithm ?? token.algorithm) == token.algorithm
    }
    var candidates = fitting
    if let wanted = token.keyID {
      let named = fitting.filter { $0.keyID.map { equalCodePoints($0, wanted) } ?? false }
      candidates = named.isEmpty ? fitting.filter { $0.keyID == nil } : named
    }
    guard !candidates.isEmpty else { throw .keyNotFound }
    if !announced.isEmpty, !announced.contains(where: { token.algorithm.isNamed($0) }) {
      candidates = candidates.filter { $0.algorithm == token.algorithm }
      guard !candidates.isEmpty else { throw .algorithmNotAllowed }
    }
    return candidates.prefix(Self.maximumCandidates).map(\.publicKey)
  }

  private static func key(_ node: JSONNode) -> Key? {
    func member(_ name: StaticString) -> JSONNode? { node[name].flatMap { $0.kind == .null ? nil : $0 } }
    guard node.kind == .object, !node.hasDuplicateKeys, let type = member("kty")?.string else { return nil }
    // A member that says nothing, such as an empty text, limits no key.
    func word(_ name: StaticString) -> String? { member(name)?.string.flatMap { $0.isEmpty ? nil : $0 } }
    if let use = word("use"), use.lowercased() != "sig" { return nil }
    if let operations = member("key_ops")?.names, !operations.isEmpty, !operations.contains("verify") { return nil }
    var algorithm: SignatureAlgorithm?
    if let name = word("alg") {
      algorithm = SignatureAlgorithm(name: name)
      guard algorithm != nil else { return nil }
    }
    guard let publicKey = publicKey(type, curve: member("crv")?.string, { member($0)?.utf8.flatMap(number) }) else {
      return nil
    }
    return Key(keyID: member("kid")?.string, algorithm: algorithm, publicKey: publicKey)
  }

  private static func publicKey(
    _ type: String, curve: String?, _ number: (StaticString) -> [UInt8]?
  ) -> PublicKey? {
    switch (type, curve) {
    case ("RSA", _):
      guard let modulus = number("n")?.significant, let exponent = number("e")?.significant else { return nil }
      return .rsa(modulus: modulus, exponent: exponent)
    case ("EC", let name?):
      guard let curve = EllipticCurve(rawValue: name), let x = number("x")?.padded(to: curve.coordinateBytes),
        let y = number("y")?.padded(to: curve.coordinateBytes)
      else { return nil }
      return .ellipticCurve(curve: curve, x: x, y: y)
    case ("OKP", "Ed25519"?): return number("x").map { .ed25519(x: $0) }
    case ("OKP", "Ed448"?): return number("x").map { .ed448(x: $0) }
    default: return nil
    }
  }

  /// A number or a byte string. How it is written proves nothing: the signature does.
  private static func number(_ text: [UInt8]) -> [UInt8]? {
    Base64URL.decodeLeniently(text).flatMap { $0.isEmpty ? nil : $0 }
  }
}

extension [UInt8] {
  /// A big-endian number without leading zeros (RFC 7518 §6.3.1.1), of which some servers add one for the sign; nil for 0.
  fileprivate var significant: [UInt8]? {
    let number = drop { $0 == 0 }
    return number.isEmpty ? nil : Array(number)
  }

  /// A big-endian number with this count of bytes: some servers leave leading zeros out, or add one for the sign (RFC
  /// 7518 §6.2.1.2). Nil for one that is too great.
  fileprivate func padded(to count: Int) -> [UInt8]? {
    let significant = drop { $0 == 0 }
    guard significant.count <= count else { return nil }
    return [UInt8](repeating: 0, count: count - significant.count) + significant
  }
}

extension SignatureAlgorithm {
  /// Fully-specified names of EdDSA (RFC 9864 §2.2).
  private static let ofEdwardsCurves = ["Ed25519", "Ed448"]

  init?(name: String) {
    if Self.ofEdwardsCurves.contains(name) { self = .edDSA } else { self.init(rawValue: name) }
  }

  func isNamed(_ name: String) -> Bool { Self(name: name) == self }
}
