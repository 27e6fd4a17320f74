public import AgentModel
internal import JSONRPC

/// A signed token in compact form (RFC 7515 §7.1), taken apart and not yet believed.
public struct CompactJWT: Sendable {
  /// Longer ones are refused unread: real ones have one to four KiB, those with many groups eight.
  public static let maximumBytes = 16 << 10

  public let algorithm: SignatureAlgorithm
  public let keyID: String?
  /// The claims as JSON.
  public let payload: [UInt8]
  public let signature: [UInt8]
  /// What the signature is over: header and payload as they came.
  public let signedBytes: [UInt8]

  /// Header members that would choose a key or a way of checking by themselves (`jku`, `jwk`, `x5u`, `x5c`) are not
  /// looked at (RFC 8725 §3.5); `crit` asks for what we don't know and is refused.
  public init(parsing token: UnsafeRawBufferPointer) throws(IDTokenFailure) {
    guard token.count <= Self.maximumBytes else { throw .tooLarge }
    // Five parts are an encrypted token; nobody asked for one.
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64URL.decode(UnsafeRawBufferPointer(rebasing: parts[0])),
      let payload = Base64URL.decode(UnsafeRawBufferPointer(rebasing: parts[1])),
      let signature = Base64URL.decode(UnsafeRawBufferPointer(rebasing: parts[2]))
    else { throw .malformed }
    (algorithm, keyID) = try StrictJSON.object(header) { (header) throws(IDTokenFailure) in
      guard header["crit"] == nil else { throw .criticalHeader }
      // An access token or a logout token is no ID token, whoever signed it (RFC 8725 §3.11).
      if let type = header["typ"] {
        guard let type = type.string?.lowercased() else { throw .malformed }
        guard type == "jwt" || type == "application/jwt" else { throw .typeNotAllowed }
      }
      guard let name = header["alg"]?.string else { throw .malformed }
      guard let algorithm = SignatureAlgorithm(rawValue: name) else { throw .algorithmNotAllowed }
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

/// JSON of a provider as our scanner reads it, without duplicate keys.
enum StrictJSON {
  /// Lends the object.
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
    _ body: (JSONNode) throws(IDTokenFailure) -> Result
  ) throws(IDTokenFailure) -> Result {
    var tape = JSONTape()
    do { try JSONScanner.scan(bytes, onto: &tape) } catch { throw failure }
    guard !tape.hasDuplicateKeys else { throw failure }
    return try tape.withRoot(of: bytes) { (root) throws(IDTokenFailure) -> Result in
      guard root.kind == .object else { throw failure }
      return try body(root)
    }
  }
}
