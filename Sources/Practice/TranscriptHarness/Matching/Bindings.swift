internal import Foundation
internal import SchemaKit

/// The values that a run of a transcript has bound to names.
struct Bindings: Sendable {
  private(set) var values: [String: JSONValue] = [:]
  private(set) var secrets: Set<String> = []

  subscript(name: String) -> JSONValue? { values[name] }

  mutating func bind(_ name: String, _ value: JSONValue, isSecret: Bool = false) {
    values[name] = value
    if isSecret { secrets.insert(name) }
  }

  /// The secret texts, which may appear only where they were expected.
  var secretTexts: [(name: String, text: String)] {
    secrets.sorted().compactMap { name in values[name]?.string.map { (name, $0) } }
  }

  /// The name of a value that is bound already, for update mode.
  func name(of value: JSONValue) -> String? {
    values.filter { $0.value == value && !secrets.contains($0.key) }.keys.min()
  }

  /// Replaces `$ref:name` and `$secret:name` in text to be sent. A whole quoted string becomes the value itself, which
  /// may be a number.
  func expand(_ text: String) throws(Unreadable) -> String {
    let reference = /\$(?:ref|secret):([A-Za-z0-9_]+)/
    var expanded = ""
    var rest = text[...]
    while let match = rest.firstMatch(of: reference) {
      let name = String(match.1)
      guard let value = values[name] else { throw Unreadable("nothing is remembered as \(name)") }
      let before = rest[..<match.range.lowerBound]
      let after = rest[match.range.upperBound...]
      if before.hasSuffix("\""), after.hasPrefix("\"") {
        expanded += before.dropLast() + value.compact
        rest = after.dropFirst()
      } else {
        guard let plain = value.string ?? value.integer.map(String.init) else {
          throw Unreadable("\(name) is no text, and stands inside of one")
        }
        // Inside a string: escaped like its surroundings, without quotes.
        expanded += before + JSONValue.string(plain).compact.dropFirst().dropLast()
        rest = after
      }
    }
    return expanded + rest
  }
}
