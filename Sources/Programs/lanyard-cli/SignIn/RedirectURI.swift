import CommandSupport

/// The redirect address in the address of an authorization request (RFC 6749 §4.1.1).
enum RedirectURI {
  /// Nil if the request does not name it: it was pushed (RFC 9126).
  static func of(_ authorizationURL: String) -> String? {
    guard let query = authorizationURL.split(separator: "?", maxSplits: 1).dropFirst().first else { return nil }
    let fields = query.prefix { $0 != "#" }.split(separator: "&")
    guard let field = fields.first(where: { $0.hasPrefix("redirect_uri=") }) else { return nil }
    return decoded(field.dropFirst("redirect_uri=".count))
  }

  /// Percent-encoding (RFC 3986 §2.1) undone; nil if it is malformed.
  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2)
      guard digits.count == 2, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
