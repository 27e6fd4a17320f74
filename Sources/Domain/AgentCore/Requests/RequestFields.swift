internal import AgentModel

/// The header fields of a request as its caller gave them, checked. The agent adds `Authorization` and
/// `Idempotency-Key`.
public struct RequestFields: Sendable {
  /// In the caller's order and spelling.
  public let all: [(name: String, value: String)]

  /// A parameter that is refused: its JSON Pointer in the params, and what it must be.
  public struct Refusal: Error, Hashable, Sendable {
    public var path: String
    public var expected: String
  }

  /// - Parameter idempotencyKey: the value of the `Idempotency-Key` field, sent as it is: neither quoted nor unquoted.
  public init(_ fields: [(name: String, value: String)], idempotencyKey: String? = nil) throws(Refusal) {
    var names: Set<String> = []
    for (name, value) in fields {
      let lowercased = name.lowercased()
      guard FieldSyntax.isToken(name), !Self.isReserved(lowercased) else {
        throw Refusal(path: Self.pointer(name), expected: Self.expectedName(lowercased))
      }
      guard names.insert(lowercased).inserted else {
        throw Refusal(path: Self.pointer(name), expected: "a name that no other field has, without regard to case")
      }
      guard value.utf8.allSatisfy(FieldSyntax.isValue) else {
        throw Refusal(path: Self.pointer(name), expected: "a value without line ends and other control characters")
      }
    }
    var all = fields
    if let idempotencyKey {
      guard Self.isKey(idempotencyKey) else {
        throw Refusal(path: "/idempotencyKey", expected: "printable ASCII without a space at either end")
      }
      all.append(("Idempotency-Key", idempotencyKey))
    }
    self.all = all
  }

  /// Fields that the agent or the connection decides (RFC 9110 §7.6.1, RFC 9112 §6), those that carry a credential, and
  /// those by which some servers take another method or another path than the one that was judged. Servers behind CGI or WSGI
  /// read `_` as `-` (RFC 3875 §4.1.18), and some every mark, so all these spellings are reserved.
  static func isReserved(_ lowercased: String) -> Bool {
    let name = hyphenated(lowercased)
    return name.hasPrefix("proxy-") || reserved.contains(name)
  }

  private static func hyphenated(_ name: String) -> String {
    String(decoding: name.utf8.map { FieldSyntax.isAlphanumeric($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
  }

  private static let reserved: Set<String> = [
    "authorization", "cookie", "cookie2", "dpop", "host", "idempotency-key",
    "connection", "content-length", "expect", "http2-settings", "keep-alive", "te", "trailer", "transfer-encoding",
    "upgrade", "x-http-method", "x-http-method-override", "x-httpmethod-override", "x-method", "x-method-override",
    "x-original-method", "x-original-uri", "x-original-url", "x-override-method", "x-rewrite-uri", "x-rewrite-url",
  ]

  private static func expectedName(_ lowercased: String) -> String {
    hyphenated(lowercased) == "idempotency-key"
      ? "the parameter idempotencyKey instead" : "a header field that a caller may set"
  }

  private static func isKey(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.first != 0x20
      && text.utf8.last != 0x20
  }

  /// RFC 6901 §3.
  private static func pointer(_ name: String) -> String {
    var pointer = "/headers/"
    for character in name.unicodeScalars {
      switch character {
      case "~": pointer += "~0"
      case "/": pointer += "~1"
      default: pointer.unicodeScalars.append(character)
      }
    }
    return pointer
  }
}
