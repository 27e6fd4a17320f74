public import AgentModel
internal import JSONRPC

/// A JWS in compact form (RFC 7515 §7.1), parsed but not verified.
public struct CompactJWT: Sendable {
  /// Maximum length in bytes. Usual tokens have 1 to 4 KiB; a person in a thousand groups has 60.
  public static let maximumBytes = 128 << 10

  public let algorithm: SignatureAlgorithm
  public let keyID: String?
  /// The claims as JSON, not verified.
  public let payload: [UInt8]
  public let signature: [UInt8]
  /// The signing input: header and payload as received, joined by a dot.
  public let signedBytes: [UInt8]

  /// Parses a token. Header members that name a key (`jku`, `jwk`, `x5u`, `x5c`) are ignored (RFC 8725 §3.5); `crit` is
  /// refused, because no extension is supported.
  ///
  /// - Throws: `IDTokenFailure` for a token that is too long, malformed, or uses another type or algorithm.
  public init(parsing token: UnsafeRawBufferPointer) throws(IDTokenFailure) {
    guard token.count <= Self.maximumBytes else { throw .tooLarge }
    // An encrypted token has five parts; the agent never requests one.
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64URL.decode(UnsafeRawBufferPointer(rebasing: parts[0])),
      let payload = Base64URL.decode(UnsafeRawBufferPointer(rebasing: parts[1])),
      let signature = Base64URL.decode(UnsafeRawBufferPointer(rebasing: parts[2]))
    else { throw .malformed }
    (algorithm, keyID) = try StrictJSON.object(header) { (header) throws(IDTokenFailure) in
      guard header["crit"] == nil else { throw .criticalHeader }
      // Access tokens and logout tokens are not ID tokens, even with a valid signature (RFC 8725 §3.11).
      if let type = header["typ"] {
        guard let type = type.string?.lowercased() else { throw .malformed }
        guard type == "jwt" || type == "application/jwt" else { throw .typeNotAllowed }
      }
      guard let name = header["alg"]?.string else { throw .malformed }
      guard let algorithm = SignatureAlgorithm(name: name) else { throw .algorithmNotAllowed }
      guard let keyID = header["kid"], keyID.kind != .null else { return (algorithm, nil) }
      guard let text = keyID.string else { throw .malformed }
      return (algorithm, text)
    }
    guard !signature.isEmpty else { throw .signatureInvalid }
    self.payload = payload
    self.signature = signature
    signedBytes = Array(token[..<(token.count - parts[2].count - 1)])
  }
}

/// Parses a provider's JSON strictly: one object, without duplicate keys unless they are allowed.
enum StrictJSON {
  /// Lends the root object to `body`.
  ///
  /// - Throws: `failure` if the bytes are no such object; what `body` throws.
  static func object<Result>(
    _ bytes: [UInt8], or failure: IDTokenFailure = .malformed,
    _ body: (JSONNode) throws(IDTokenFailure) -> Result
  ) throws(IDTokenFailure) -> Result {
    try bytes.withUnsafeBufferPointer { (bytes) throws(IDTokenFailure) -> Result in
      try object(UnsafeRawBufferPointer(bytes), or: failure, body)
    }
  }

  static func object<Result>(
    _ bytes: UnsafeRawBufferPointer, or failure: IDTokenFailure = .malformed,
    duplicateKeys: JSONScanner.DuplicateKeys = .refused,
    _ body: (JSONNode) throws(IDTokenFailure) -> Result
  ) throws(IDTokenFailure) -> Result {
    var tape = JSONTape()
    do { try JSONScanner.scan(bytes, onto: &tape, duplicateKeys: duplicateKeys) } catch { throw failure }
    return try tape.withRoot(of: bytes) { (root) throws(IDTokenFailure) -> Result in
      guard root.kind == .object else { throw failure }
      return try body(root)
    }
  }
}
