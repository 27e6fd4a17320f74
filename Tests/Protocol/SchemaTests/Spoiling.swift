import SchemaKit

/// Variants of valid params, each spoiled, or stretched to a bound, in one place.
enum Spoiling {
  static func variants(of value: JSONValue, by schema: Schema) -> [JSONValue] {
    let schema = RepositoryFixture.contract.resolved(schema)
    var spoiled: [JSONValue] = []
    switch schema.kind {
    case .object(let shape):
      let members = value.members ?? []
      spoiled += [.array([value]), .null, .object(members + [JSONMember("no/such~member", .null)])]
      for member in members { spoiled.append(.object(members.filter { $0.name != member.name })) }
      for known in shape.members {
        let now = value[known.name] ?? sample(known.schema)
        for variant in variants(of: now, by: known.schema) + [now] {
          spoiled.append(.object(members.filter { $0.name != known.name } + [JSONMember(known.name, variant)]))
        }
      }
    case .map(let shape):
      spoiled += [.string("text"), .object([]), .object([JSONMember("name", .bool(true))])]
      spoiled.append(.object((0...shape.maximumMembers).map { JSONMember("n\($0)", .number("1")) }))
      if let values = shape.values {
        spoiled += variants(of: sample(values), by: values).map { .object([JSONMember("name", $0)]) }
        spoiled.append(.object([JSONMember("a b\u{e9}", sample(values))]))
      }
    case .array(let shape):
      let item = sample(shape.items)
      spoiled += [.object([]), .array([]), item]
      spoiled.append(.array(Array(repeating: item, count: shape.count.upperBound)))
      spoiled.append(.array(Array(repeating: item, count: shape.count.upperBound + 1)))
      spoiled += variants(of: item, by: shape.items).map { .array([item, $0]) }
    case .string(let shape):
      spoiled += [
        .null, .number("7"), .string(""), .string("with space"), .string("\u{e9}\u{1F642}\n"), .string("acc_x"),
      ]
      if shape.length.upperBound < 5000 {
        spoiled.append(.string(String(repeating: "a", count: shape.length.upperBound)))
        spoiled.append(.string(String(repeating: "a", count: shape.length.upperBound + 1)))
        spoiled.append(.string(String(repeating: "\u{1F642}", count: shape.length.upperBound)))
      }
    case .enumeration(let words):
      spoiled += words.map { .string($0) } + [.string("nobody"), .string(""), .null, .string(words[0].uppercased())]
    case .integer(let range):
      spoiled += [range.lowerBound, range.upperBound].map { .number("\($0)") }
      spoiled += [range.lowerBound - 1, range.upperBound + 1].map { .number("\($0)") }
      spoiled += ["1.0", "0.5", "1e2", "-0", "99999999999999999999"].map { .number($0) } + [.string("1"), .bool(true)]
    case .boolean: spoiled += [.bool(true), .bool(false), .number("1"), .string("true"), .null]
    case .anything, .reference: spoiled += [.null, .object([]), .number("1")]
    }
    return spoiled
  }

  /// A value that the schema roughly allows.
  private static func sample(_ schema: Schema) -> JSONValue {
    let named: [String: JSONValue] = [
      "instant": "2030-01-01T00:00:00.000Z", "accountId": "acc_c2ztq4xk7m3vwy5ndhb6rfgupa",
      "url": "https://idp.example",
    ]
    if let name = schema.reference, let sample = named[name] { return sample }
    let schema = RepositoryFixture.contract.resolved(schema)
    return switch schema.kind {
    case .object(let shape):
      .object(shape.members.filter(\.isRequired).map { JSONMember($0.name, sample($0.schema)) })
    case .map: .object([])
    case .array(let shape): .array(Array(repeating: sample(shape.items), count: shape.count.lowerBound))
    case .string: "abc"
    case .enumeration(let words): .string(words[0])
    case .integer(let range): .number("\(range.lowerBound)")
    case .boolean: .bool(true)
    case .anything, .reference: .null
    }
  }
}
