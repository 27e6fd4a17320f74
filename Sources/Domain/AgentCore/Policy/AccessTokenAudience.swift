internal import AgentModel
internal import JSONRPC

/// The audiences that an access token names, if it is a JWT (RFC 9068 §2.2). The signature is not verified: they only
/// label the token for the caller.
public enum AccessTokenAudience {
  /// Empty for an opaque token.
  public static func of(_ token: UnsafeRawBufferPointer) -> [String] {
    guard token.count <= CompactJWT.maximumBytes else { return [] }
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(UnsafeRawBufferPointer(rebasing: parts[1])),
      let audiences = try? StrictJSON.object(
        payload, { (claims) throws(IDTokenFailure) in claims["aud"].map(names) ?? [] })
    else { return [] }
    return audiences
  }

  private static func names(_ claim: JSONNode) -> [String] {
    claim.string.map { [$0] } ?? claim.elements.compactMap(\.string)
  }

  /// Compares two resources; servers write them with or without the last slash.
  public static func isSame(_ a: String, _ b: String) -> Bool {
    trimmed(a).utf8.elementsEqual(trimmed(b).utf8)
  }

  private static func trimmed(_ text: String) -> Substring { text.hasSuffix("/") ? text.dropLast() : text[...] }
}
