public import SchemaKit

/// The pattern of a line: JSON whose strings may be placeholders.
public indirect enum Pattern: Sendable {
  case value(JSONValue)
  case array([Pattern])
  /// `isOpen`: written with a `…` before the closing brace; more members may follow.
  case object([(name: String, pattern: Pattern)], isOpen: Bool)
  case placeholder(Placeholder)

  public enum Placeholder: Sendable, Equatable {
    case any, string, int
    /// An RFC 3339 instant in the contract's form.
    case instant
    /// A string that this regular expression matches completely.
    case regex(String)
    /// Binds the value to a name; a value bound before must be equal.
    case bind(String)
    /// The value bound to this name.
    case ref(String)
    /// Like `bind`, for a value that must appear nowhere else.
    case secret(String)
  }

  /// The member that represents `…` while the pattern is parsed as JSON.
  private static let ellipsis = "…"

  init(parsing text: String) throws(Unreadable) {
    var text = text
    for (short, long) in [(",…}", ",\"…\":0}"), ("{…}", "{\"…\":0}"), (",…]", ",\"…\"]")] {
      text = text.replacing(short, with: long)
    }
    do {
      self.init(try JSONValue(parsing: text))
    } catch {
      throw Unreadable("the expectation is not JSON (\(error))")
    }
  }

  init(_ value: JSONValue) {
    switch value {
    case .array(let elements): self = .array(elements.map { Pattern($0) })
    case .object(let members):
      let named = members.filter { $0.name != Self.ellipsis }
      self = .object(named.map { ($0.name, Pattern($0.value)) }, isOpen: named.count < members.count)
    case .string(let text): self = Placeholder(text).map { .placeholder($0) } ?? .value(value)
    default: self = .value(value)
    }
  }
}

extension Pattern.Placeholder {
  /// Nil for a string that is no placeholder.
  init?(_ text: String) {
    func rest(after prefix: String) -> String? {
      text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : nil
    }
    switch text {
    case "$any": self = .any
    case "$string": self = .string
    case "$int": self = .int
    case "$instant": self = .instant
    default:
      if let expression = rest(after: "$re:") {
        self = .regex(expression)
      } else if let name = rest(after: "$bind:") {
        self = .bind(name)
      } else if let name = rest(after: "$ref:") {
        self = .ref(name)
      } else if let name = rest(after: "$secret:") {
        self = .secret(name)
      } else {
        return nil
      }
    }
  }

  /// The placeholder in a script's notation, without quotes.
  var text: String {
    switch self {
    case .any: "$any"
    case .string: "$string"
    case .int: "$int"
    case .instant: "$instant"
    case .regex(let expression): "$re:" + expression
    case .bind(let name): "$bind:" + name
    case .ref(let name): "$ref:" + name
    case .secret(let name): "$secret:" + name
    }
  }
}
