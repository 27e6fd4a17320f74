import SchemaKit

/// Variants of good params, each spoiled, or stretched to a bound, in one place.
enum Spoiling {
  static func variants(of value: JSONValue, by schema: Schema) -> [JSONValue] {
    let schema = House.contract.resolved(schema)
    var variants: [JSONValue] = []
    switch schema.kind {
    case .object(let shape):
      let members = value.members ?? []
      variants += [.array([value]), .null, .object(members + [JSONMember("no/such~member", .null)])]
      for member in members { variants.append(.object(members.filter { $0.name != member.name })) }
      for known in shape.members {
        let now = value[known.name] ?? sample(known.schema)
        for variant in variants(of: now, by: known.schema) + [now] {
          variants.append(.object(members.filter { $0.name != known.name } + [JSONMember(known.name, variant)]))
        }
      }
    case .map(let shape):
      variants += [.string("text"), .object([]), .object([JSONMember("name", .bool(true))])]
      variants.append(.object((0...shape.maximumMembers).map { JSONMember("n\($0)", .number("1")) }))
      if let values = shape.values {
        variants += variants(of: sample(values), by: values).map { .object([JSONMember("name", $0)]) }
        variants.append(.object([JSONMember("a b\u{e9}", sample(values))]))
      }
    case .array(let shape):
      let item = sample(shape.items)
      variants += [.object([]), .array([]), item]
      variants.append(.array(Array(repeating: item, count: shape.count.upperBound)))
      variants.append(.array(Array(repeating: item, count: shape.count.upperBound + 1)))
      variants += variants(of: item, by: shape.items).map { .array([item, $0]) }
    case .string(let shape):
      variants += [.null, .number("7"), .string(""), .string("with space"), .string("\u{e9}\u{1F642}\n"), .string("acc_x")]
      if shape.length.upperBound < 5000 {
        variants.append(.string(String(repeating: "a", count: shape.length.upperBound)))
        variants.append(.string(String(repeating: "a", count: shape.length.upperBound + 1)))
        variants.append(.string(String(repeating: "\u{1F642}", count: shape.length.upperBound)))
      }
    case .enumeration(let words):
      variants += words.map { .string($0) } + [.string("nobody"), .string(""), .null, .string(words[0].uppercased())]
    case .integer(let range):
      variants += [range.lowerBound, range.upperBound].map { .number("\($0)") }
      variants += [range.lowerBound - 1, range.upperBound + 1].map { .number("\($0)") }
      variants += ["1.0", "0.5", "1e2", "-0", "99999999999999999999"].map { .number($0) } + [.string("1"), .bool(true)]
    case .boolean: variants += [.bool(true), .bool(false), .number("1"), .string("true"), .null]
    case .anything, .reference: variants += [.null, .object([]), .number("1")]
    }
    return variants
  }

  /// A value that the schema allows, more or less.
  private static func sample(_ schema: Schema) -> JSONValue {
    let named: [String: JSONValue] = [
      "instant": "2030-01-01T00:00:00.000Z", "accountId": "acc_c2ztq4xk7m3vwy5ndhb6rfgupa", "url": "https://idp.example",
    ]
    if let name = schema.reference, let sample = named[name] { return sample }
    let schema = House.contract.resolved(schema)
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
