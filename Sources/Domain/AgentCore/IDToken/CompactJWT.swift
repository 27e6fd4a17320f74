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
    guard parts.count == 3, let header = Self.decode(parts[0]), let payload = Self.decode(parts[1]),
      let signature = Self.decode(parts[2])
    else { throw .malformed }
    (algorithm, keyID) = try StrictJSON.object(header) { (header) throws(IDTokenFailure) in
      func member(_ name: StaticString) -> JSONNode? { header[name].flatMap { $0.kind == .null ? nil : $0 } }
      guard member("crit") == nil else { throw .criticalHeader }
      // Access tokens and logout tokens are not ID tokens, even with a valid signature (RFC 8725 §3.11).
      if let type = member("typ") {
        guard let type = type.string?.lowercased() else { throw .malformed }
        guard type == "jwt" || type == "application/jwt" else { throw .typeNotAllowed }
      }
      guard let name = header["alg"]?.string else { throw .malformed }
      guard let algorithm = SignatureAlgorithm(name: name) else { throw .algorithmNotAllowed }
      // One that is no text names no key, as in a key set: every key is tried that fits the algorithm.
      return (algorithm, header["kid"]?.string)
    }
    guard !signature.isEmpty else { throw .signatureInvalid }
    self.payload = payload
    self.signature = signature
    signedBytes = Array(token[..<(token.count - parts[2].count - 1)])
  }

  /// RFC 7515 §2 leaves the padding out, and some servers do not. The signature is over the text as it was received.
  private static func decode(_ part: Slice<UnsafeRawBufferPointer>) -> [UInt8]? {
    let padding = part.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding == 0 || part.count % 4 == 0 && padding < 3 else { return nil }
    return Base64URL.decode(UnsafeRawBufferPointer(rebasing: part.dropLast(padding)))
  }
}

/// Parses a provider's JSON strictly: one object, without duplicate keys unless they are allowed.
enum StrictJSON {
  /// Lends the root object to `body`. `isMended`: an encoding that is none is mended before (`MendedText`).
  ///
  /// - Throws: `failure` if the bytes are no such object; what `body` throws.
  static func object<Result>(
    _ bytes: [UInt8], or failure: IDTokenFailure = .malformed,
    duplicateKeys: JSONScanner.DuplicateKeys = .refused, isMended: Bool = false,
    _ body: (JSONNode) throws(IDTokenFailure) -> Result
  ) throws(IDTokenFailure) -> Result {
    try bytes.withUnsafeBufferPointer { (bytes) throws(IDTokenFailure) -> Result in
      let bytes = UnsafeRawBufferPointer(bytes)
      guard isMended, !isJSON(bytes) else { return try object(bytes, or: failure, duplicateKeys: duplicateKeys, body) }
      var mended: [UInt8] = []
      MendedText.mend(bytes) { mended.append($0) }
      return try object(mended, or: failure, duplicateKeys: duplicateKeys, body)
    }
  }

  private static func isJSON(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var tape = JSONTape()
    return (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil
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
