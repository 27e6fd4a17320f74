/// Values by the names that stand in braces in the answers of a guise.
package typealias GuiseValues = [String: PracticeJSON]

extension PracticeJSON {
  /// The value with each `{name}` replaced. A text that is nothing else becomes the value, of the value's own kind;
  /// `{name:text}` is the value as text, and `{scope:list}` and `{scope:commas}` are the scopes as a list and with commas.
  /// Members and elements whose value is not there are left out; names that nobody knows stay.
  package func filled(with values: GuiseValues) -> PracticeJSON? {
    switch self {
    case .string(let text): Self.filled(text, with: values)
    case .array(let items): .array(items.compactMap { $0.filled(with: values) })
    case .object(let members):
      .object(members.compactMap { member in member.value.filled(with: values).map { Member(member.name, $0) } })
    default: self
    }
  }

  /// The names that answers of a guise may have in braces; not all are there in each answer.
  static let placeholders = [
    "access_token", "refresh_token", "spent_refresh_token", "id_token", "expires_in", "scope", "origin", "issuer",
    "now", "client_id", "nonce", "session", "auth_time", "sub", "number", "username", "name", "given_name",
    "family_name", "email", "tenant", "key_id", "modulus",
  ]

  private static func filled(_ text: String, with values: GuiseValues) -> PracticeJSON? {
    var filled = ""
    var rest = text[...]
    while let close = rest.firstIndex(of: "}") {
      guard let open = rest[..<close].lastIndex(of: "{") else {
        filled += rest[...close]
        rest = rest[rest.index(after: close)...]
        continue
      }
      let parts = rest[rest.index(after: open)..<close].split(separator: ":", maxSplits: 1).map(String.init)
      guard let name = parts.first, placeholders.contains(name) else {
        filled += rest[...close]
        rest = rest[rest.index(after: close)...]
        continue
      }
      guard let value = values[name] else { return nil }
      let shaped = value.shaped(as: parts.count > 1 ? parts[1] : nil)
      if open == text.startIndex, close == text.index(before: text.endIndex) { return shaped }
      filled += rest[..<open] + (shaped.stringValue ?? shaped.text)
      rest = rest[rest.index(after: close)...]
    }
    return .string(filled + rest)
  }

  private func shaped(as form: String?) -> PracticeJSON {
    let words = { (stringValue ?? "").split(separator: " ").map(String.init) }
    return switch form {
    case "text": .string(stringValue ?? text)
    case "list": .strings(words())
    case "commas": .string(words().joined(separator: ","))
    default: self
    }
  }
}
