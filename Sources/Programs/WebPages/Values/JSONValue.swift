package import JSONRPC

/// A value of an agent's answer, or of the parameters of a call, as a tree: a page reads an answer after its line is gone.
///
/// `SchemaKit` has a tree of its own for schemas, which keeps the text of numbers; it is no part of an installed program.
package indirect enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  /// Within ±(2^53-1), as all integers of the contract.
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Members of results that hold a token or a secret (`x-secret` in the schemas). They are never copied: a page shows none.
  package static let secretNames: Set<String> = [
    "accessToken", "endSessionUrl", "idToken", "otherTokens", "proof", "refreshToken", "secret", "secretAccessKey",
    "sessionToken",
  ]

  /// Copies a scanned value, without `secretNames`.
  package init(_ node: JSONNode) {
    switch node.kind {
    case .null: self = .null
    case .true: self = .bool(true)
    case .false: self = .bool(false)
    case .number: self = node.integer.map { .integer($0) } ?? .number(node.double ?? 0)
    case .string: self = .string(node.string ?? "")
    case .array: self = .array(node.elements.map { JSONValue($0) })
    case .object:
      var members: [String: JSONValue] = [:]
      for (key, value) in node.members {
        let name = key.string ?? ""
        if !Self.secretNames.contains(name) { members[name] = JSONValue(value) }
      }
      self = .object(members)
    }
  }

  /// Writes the value, the members of an object in the order of their names.
  package func write(to writer: inout JSONWriter) {
    switch self {
    case .null: writer.null()
    case .bool(let value): writer.bool(value)
    case .integer(let value): writer.integer(value)
    case .number(let value): writer.number(value)
    case .string(let text): writer.string(text)
    case .array(let elements):
      writer.beginArray()
      for element in elements { element.write(to: &writer) }
      writer.endArray()
    case .object(let members):
      writer.beginObject()
      for (name, value) in members.sorted(by: { $0.key < $1.key }) {
        writer.key(name)
        value.write(to: &writer)
      }
      writer.endObject()
    }
  }

  /// The member with this name; nil if there is none or this is no object.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members[name]
  }

  /// The text of a string; nil for another type.
  package var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The value of an integer; nil for another type.
  package var integer: Int64? {
    guard case .integer(let value) = self else { return nil }
    return value
  }

  /// True for `true` alone.
  package var isTrue: Bool { self == .bool(true) }

  /// The elements of an array; empty for another type.
  package var elements: [JSONValue] {
    guard case .array(let elements) = self else { return [] }
    return elements
  }

  /// The members of an object in the order of their names; empty for another type.
  package var members: [(name: String, value: JSONValue)] {
    guard case .object(let members) = self else { return [] }
    return members.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  package init(dictionaryLiteral members: (String, JSONValue)...) {
    self = .object(Dictionary(members, uniquingKeysWith: { first, _ in first }))
  }
}
