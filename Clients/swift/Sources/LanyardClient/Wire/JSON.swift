/// A JSON value, for raw calls and for members that this version does not know.
///
/// An integer of up to 64 bits stays exact.
public enum JSON: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int)
  case number(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  /// The member of an object; nil if there is none, or this is no object.
  public subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members[name]
  }

  /// The element of an array; nil if there is none, or this is no array.
  public subscript(index: Int) -> JSON? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  /// The text of a string; nil for another value.
  public var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The value of an integer; nil for another value.
  public var integer: Int? {
    guard case .integer(let value) = self else { return nil }
    return value
  }

  /// The value of a boolean; nil for another value.
  public var bool: Bool? {
    guard case .bool(let value) = self else { return nil }
    return value
  }

  /// The elements of an array; nil for another value.
  public var array: [JSON]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }

  /// The members of an object; nil for another value.
  public var object: [String: JSON]? {
    guard case .object(let members) = self else { return nil }
    return members
  }

  /// Reads a text.
  ///
  /// - Throws: ``LanyardError`` with ``LanyardError/protocolError`` if it is not JSON. The error holds nothing of it.
  public init(parsing text: String) throws(LanyardError) {
    let bytes = WireBuffer(capacity: text.utf8.count)
    bytes.append(text)
    self = try WireDocument(parsing: bytes).root.json
  }

  /// The value as JSON text on one line, the members of objects sorted by name.
  public var text: String {
    var writer = WireWriter()
    writer.value(self)
    return writer.buffer.text
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByFloatLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int) { self = .integer(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(nilLiteral: ()) { self = .null }
  public init(arrayLiteral elements: JSON...) { self = .array(elements) }
  public init(dictionaryLiteral members: (String, JSON)...) {
    self = .object(Dictionary(members) { _, last in last })
  }
}
