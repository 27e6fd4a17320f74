public import AgentModel

/// The header fields of a response as the caller gets them: names in lower case, fields with the same name joined, and
/// without cookies, fields about the connection and what the agent keeps for itself.
public struct ResponseFields: Hashable, Sendable {
  /// In the order of their first occurrence.
  public private(set) var all: [Field] = []

  public struct Field: Hashable, Sendable {
    public var name: String
    public var value: String
  }

  /// The contract's bound for the fields of an answer.
  public static let maximumCount = 256

  /// Nil for more than `maximumCount` fields.
  public init?(_ fields: [(name: String, value: String)]) {
    // RFC 9110 §7.6.1: `Connection` names more fields that are about the connection.
    let removed = Set(
      fields.filter { FieldSyntax.isName($0.name, "connection") }.flatMap { FieldSyntax.tokens(of: $0.value) })
    var places = [String: Int](minimumCapacity: fields.count)
    for field in fields {
      let name = field.name.lowercased()
      guard !Self.removed.contains(name), !removed.contains(name), !name.hasPrefix("proxy-") else { continue }
      if let place = places[name] {
        all[place].value += ", " + field.value  // RFC 9110 §5.3
      } else {
        places[name] = all.count
        all.append(Field(name: name, value: field.value))
      }
    }
    guard all.count <= Self.maximumCount else { return nil }
  }

  private static let removed: Set<String> = [
    "set-cookie", "set-cookie2", "dpop-nonce", "connection", "keep-alive", "te", "trailer", "transfer-encoding",
    "upgrade",
  ]
}

extension ResponseFields {
  /// What `Retry-After` asks for (RFC 9110 §10.2.3); nil without a readable one. A date is compared with the server's own
  /// clock: the answer's `Date` if it has one, else `now`.
  public func retryAfter(now: Timestamp) -> Milliseconds? {
    guard let text = value("retry-after"), !text.isEmpty else { return nil }
    if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return .seconds(min(Int64(text) ?? .max, 1 << 31)) }
    let answeredAt = value("date").flatMap { Timestamp(httpDate: $0, now: now) } ?? now
    return Timestamp(httpDate: text, now: now).map { max(.zero, $0 - answeredAt) }
  }

  private func value(_ name: String) -> String? { all.first { $0.name == name }?.value }
}
