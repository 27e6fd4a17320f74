/// Three ways to write a value: for people, for a line, and for a digest.
extension JSONValue {
  private static let width = 112

  /// Indented by two spaces; a value that fits on a line stays on one line.
  public var pretty: String { text(indent: 0, used: 0, broken: true) + "\n" }

  /// As `pretty`, but on a single line if it fits.
  var folded: String { text(indent: 0, used: 0) }

  /// On a single line, without spaces.
  public var compact: String {
    switch self {
    case .null: "null"
    case .bool(let bool): bool ? "true" : "false"
    case .number(let text): text
    case .string(let text): Self.quoted(text)
    case .array(let elements): "[" + elements.map(\.compact).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0.name) + ":" + $0.value.compact }.joined(separator: ",") + "}"
    }
  }

  /// With members sorted by name, for a digest that does not depend on their order.
  public var sorted: JSONValue {
    switch self {
    case .array(let elements): .array(elements.map(\.sorted))
    case .object(let members):
      .object(members.map { JSONMember($0.name, $0.value.sorted) }.sorted { $0.name < $1.name })
    default: self
    }
  }

  private var spaced: String {
    switch self {
    case .array(let elements) where !elements.isEmpty: "[" + elements.map(\.spaced).joined(separator: ", ") + "]"
    case .object(let members) where !members.isEmpty:
      "{ " + members.map { Self.quoted($0.name) + ": " + $0.value.spaced }.joined(separator: ", ") + " }"
    default: compact
    }
  }

  private func text(indent: Int, used: Int, broken: Bool = false) -> String {
    let line = spaced
    if !broken, indent + used + line.count + 1 <= Self.width { return line }
    let pad = String(repeating: " ", count: indent + 2)
    let end = "\n" + String(repeating: " ", count: indent)
    switch self {
    case .array(let elements) where !elements.isEmpty:
      let rows = elements.map { pad + $0.text(indent: indent + 2, used: 0) }
      return "[\n" + rows.joined(separator: ",\n") + end + "]"
    case .object(let members) where !members.isEmpty:
      let rows = members.map { member in
        let key = Self.quoted(member.name) + ": "
        return pad + key + member.value.text(indent: indent + 2, used: key.count)
      }
      return "{\n" + rows.joined(separator: ",\n") + end + "}"
    default: return line
    }
  }

  static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      case "\u{0}"..<"\u{20}":
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
