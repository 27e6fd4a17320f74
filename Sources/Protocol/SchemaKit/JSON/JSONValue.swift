public import JSONRPC

/// A JSON value that keeps the order of members, so that generated files follow the order of the schemas.
public indirect enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  /// The number as written. Schemas compare numbers and never compute with them.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([JSONMember])

  /// Parses one value, as strictly as the agent parses a line.
  ///
  /// - Throws: `JSONScanner.Failure`.
  public init(parsing bytes: [UInt8]) throws(JSONScanner.Failure) {
    var tape = JSONTape()
    let scanned = bytes.withUnsafeBytes { buffer -> Swift.Result<JSONValue, JSONScanner.Failure> in
      do throws(JSONScanner.Failure) {
        try JSONScanner.scan(buffer, onto: &tape)
        return .success(tape.withRoot(of: buffer) { JSONValue($0) })
      } catch {
        return .failure(error)
      }
    }
    self = try scanned.get()
  }

  /// Parses UTF-8 text, as `init(parsing:)` of bytes.
  ///
  /// - Throws: `JSONScanner.Failure`.
  public init(parsing text: String) throws(JSONScanner.Failure) { try self.init(parsing: [UInt8](text.utf8)) }

  /// Copies a scanned value.
  public init(_ node: JSONNode) {
    switch node.kind {
    case .null: self = .null
    case .true: self = .bool(true)
    case .false: self = .bool(false)
    case .number: self = .number(String(decoding: node.raw, as: UTF8.self))
    case .string: self = .string(node.string ?? "")
    case .array: self = .array(node.elements.map { JSONValue($0) })
    case .object: self = .object(node.members.map { JSONMember($0.key.string ?? "", JSONValue($0.value)) })
    }
  }

  /// The first member with this name; nil if there is none or this is no object.
  public subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  /// The text of a string; nil for another type.
  public var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The value of `true` or `false`; nil for another type.
  public var bool: Bool? {
    guard case .bool(let bool) = self else { return nil }
    return bool
  }

  /// The elements of an array; nil for another type.
  public var elements: [JSONValue]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }

  /// The members of an object in order; nil for another type.
  public var members: [JSONMember]? {
    guard case .object(let members) = self else { return nil }
    return members
  }

  /// An integer within ±(2^53-1), also if written as `1.0` (JSON Schema 2020-12 §4.2.3); nil otherwise.
  public var integer: Int? {
    guard case .number(let text) = self else { return nil }
    let value = Int(text) ?? Double(text).flatMap { $0.rounded() == $0 ? Int(exactly: $0) : nil }
    guard let value, value.magnitude < 1 << 53 else { return nil }
    return value
  }
}

/// A member of an object.
public struct JSONMember: Hashable, Sendable {
  public var name: String
  public var value: JSONValue

  public init(_ name: String, _ value: JSONValue) {
    self.name = name
    self.value = value
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { JSONMember($0.0, $0.1) })
  }
}
