import Foundation

/// A JSON value whose objects keep their order, so that responses are the same in each run.
public indirect enum PracticeJSON: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([PracticeJSON])
  case object([Member])

  public struct Member: Sendable, Equatable {
    public var name: String
    public var value: PracticeJSON

    public init(_ name: String, _ value: PracticeJSON) {
      self.name = name
      self.value = value
    }
  }

  public static func strings(_ values: [String]) -> PracticeJSON { .array(values.map { .string($0) }) }

  /// The member of an object, or nil.
  public subscript(name: String) -> PracticeJSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  public var stringValue: String? { if case .string(let text) = self { text } else { nil } }
  public var boolValue: Bool? { if case .bool(let flag) = self { flag } else { nil } }
  public var arrayValue: [PracticeJSON]? { if case .array(let items) = self { items } else { nil } }
  public var integerValue: Int64? {
    switch self {
    case .integer(let number): number
    case .number(let number): Int64(exactly: number)
    default: nil
    }
  }

  /// The object with each member of `changes` replaced or added; null removes the member.
  public func changed(by changes: [String: PracticeJSON]) -> PracticeJSON {
    guard case .object(var members) = self else { return self }
    for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
      let place = members.firstIndex { $0.name == name }
      switch (value, place) {
      case (.null, let place?): members.remove(at: place)
      case (.null, nil): break
      case (_, let place?): members[place].value = value
      case (_, nil): members.append(Member(name, value))
      }
    }
    return .object(members)
  }
}

extension PracticeJSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(arrayLiteral elements: PracticeJSON...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, PracticeJSON)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }
  public init(nilLiteral: ()) { self = .null }
}

extension PracticeJSON: Codable {
  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  public init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: Name.self) {
      // Foundation has lost the order; sorted members are the same in each run.
      let names = container.allKeys.map(\.stringValue).sorted()
      self = .object(try names.map { Member($0, try container.decode(Self.self, forKey: Name(stringValue: $0))) })
      return
    }
    let single = try decoder.singleValueContainer()
    if single.decodeNil() {
      self = .null
    } else if let flag = try? single.decode(Bool.self) {
      self = .bool(flag)
    } else if let number = try? single.decode(Int64.self) {
      self = .integer(number)
    } else if let number = try? single.decode(Double.self) {
      self = .number(number)
    } else if let text = try? single.decode(String.self) {
      self = .string(text)
    } else {
      self = .array(try single.decode([PracticeJSON].self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .object(let members):
      var container = encoder.container(keyedBy: Name.self)
      for member in members { try container.encode(member.value, forKey: Name(stringValue: member.name)) }
    case .array(let items): try items.encode(to: encoder)
    case .string(let text): try text.encode(to: encoder)
    case .integer(let number): try number.encode(to: encoder)
    case .number(let number): try number.encode(to: encoder)
    case .bool(let flag): try flag.encode(to: encoder)
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    }
  }
}

extension PracticeJSON {
  public init(parsing bytes: [UInt8]) throws {
    self = try JSONDecoder().decode(PracticeJSON.self, from: Data(bytes))
  }

  /// The value in one line without spaces.
  public var text: String {
    switch self {
    case .null: "null"
    case .bool(let flag): flag ? "true" : "false"
    case .integer(let number): String(number)
    case .number(let number): number.isFinite ? "\(number)" : "null"
    case .string(let text): Self.quoted(text)
    case .array(let items): "[" + items.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    let quote = UInt8(ascii: "\""), backslash = UInt8(ascii: "\\")
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 != quote && $0 != backslash }) { return "\"" + text + "\"" }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      case _ where scalar.value < 0x20: quoted += "\\u" + String(format: "%04x", scalar.value)
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
