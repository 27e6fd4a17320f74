/// Reads schemas and refuses keywords outside the dialect: the agent would not enforce them.
struct SchemaReader {
  private(set) var problems: [Problem] = []

  private static let annotations: Set<String> = ["$schema", "title", "description", "default", "x-secret"]
  private static let keywords: [String: Set<String>] = [
    "object": [
      "type", "properties", "required", "additionalProperties", "propertyNames", "maxProperties", "minProperties",
      "not",
    ],
    "array": ["type", "items", "minItems", "maxItems"],
    "string": ["type", "minLength", "maxLength", "pattern", "format", "enum"],
    "integer": ["type", "minimum", "maximum"],
    "boolean": ["type"],
  ]
  static let largestInteger = 1 << 53 - 1

  mutating func schema(_ value: JSONValue, at pointer: String) -> Schema {
    guard let members = value.members else {
      problems.append(Problem(pointer, "a schema is an object"))
      return Schema(kind: .anything, isSecret: false)
    }
    let isSecret = value["x-secret"]?.bool == true
    var schema = Schema(
      kind: .anything, title: value["title"]?.string, description: value["description"]?.string, isSecret: isSecret,
      defaultValue: value["default"])
    if let target = value["$ref"] {
      refuse(members, beyond: ["$ref"], at: pointer)
      schema.kind = .reference(reference(target, at: pointer))
      return schema
    }
    guard let type = value["type"] else {
      refuse(members, beyond: [], at: pointer)
      if schema.description == nil {
        problems.append(Problem(pointer, "a schema without a type says in words what it takes"))
      }
      return schema
    }
    guard let name = type.string, let known = Self.keywords[name] else {
      problems.append(Problem(pointer.pointer(to: "type"), "expected object, array, string, integer or boolean"))
      return schema
    }
    refuse(members, beyond: known, at: pointer)
    switch name {
    case "object": schema.kind = object(value, at: pointer)
    case "array": schema.kind = array(value, at: pointer)
    case "string": schema.kind = string(value, at: pointer)
    case "integer": schema.kind = integer(value, at: pointer)
    default: schema.kind = .boolean
    }
    if isSecret, name != "string" || value["pattern"] != nil || value["enum"] != nil {
      problems.append(Problem(pointer, "only a string without pattern and enum is a secret"))
    }
    return schema
  }

  private mutating func refuse(_ members: [JSONMember], beyond known: Set<String>, at pointer: String) {
    for member in members where !known.contains(member.name) && !Self.annotations.contains(member.name) {
      problems.append(Problem(pointer.pointer(to: member.name), "is no keyword of the dialect here"))
    }
  }

  private mutating func reference(_ value: JSONValue, at pointer: String) -> String {
    let path = value.string ?? ""
    let steps = path.split(separator: "/")
    guard steps.count >= 2, steps[steps.count - 2] == "types", path.hasSuffix(".json") else {
      problems.append(Problem(pointer.pointer(to: "$ref"), "expected a file of types/"))
      return ""
    }
    return String(steps[steps.count - 1].dropLast(5))
  }

  private mutating func object(_ value: JSONValue, at pointer: String) -> Schema.Kind {
    let additional = value["additionalProperties"]
    guard let properties = value["properties"] else {
      let names = value["propertyNames"].map { schema($0, at: pointer.pointer(to: "propertyNames")) }
      let values = additional.flatMap {
        $0.bool == true ? nil : schema($0, at: pointer.pointer(to: "additionalProperties"))
      }
      let maximum = bound(value, "maxProperties", at: pointer)
      return .map(.init(values: values, names: names, maximumMembers: maximum))
    }
    let required = value["required"]?.elements?.compactMap(\.string) ?? []
    let members = (properties.members ?? []).map { member in
      Schema.ObjectShape.Member(
        name: member.name,
        schema: schema(member.value, at: pointer.pointer(to: "properties").pointer(to: member.name)),
        isRequired: required.contains(member.name))
    }
    for name in required where !members.contains(where: { $0.name == name }) {
      problems.append(Problem(pointer.pointer(to: "required"), "names \(name), which is no property"))
    }
    if let additional, additional.bool != false {
      problems.append(Problem(pointer.pointer(to: "additionalProperties"), "is false beside properties, or not there"))
    }
    return .object(
      .init(
        members: members, isClosed: additional?.bool == false,
        exclusive: value["not"]?["required"]?.elements?.compactMap(\.string) ?? [],
        minimumMembers: value["minProperties"]?.integer ?? 0))
  }

  private mutating func array(_ value: JSONValue, at pointer: String) -> Schema.Kind {
    let items = schema(value["items"] ?? .null, at: pointer.pointer(to: "items"))
    let maximum = bound(value, "maxItems", at: pointer)
    return .array(.init(items: items, count: range(value["minItems"]?.integer ?? 0, maximum, at: pointer)))
  }

  private mutating func string(_ value: JSONValue, at pointer: String) -> Schema.Kind {
    if let words = value["enum"] {
      let words = words.elements?.compactMap(\.string) ?? []
      if words.isEmpty || Set(words).count != words.count {
        problems.append(Problem(pointer.pointer(to: "enum"), "expected different strings"))
      }
      return .enumeration(words)
    }
    var pattern: TextPattern?
    if let source = value["pattern"]?.string {
      pattern = TextPattern(source)
      if pattern == nil { problems.append(Problem(pointer.pointer(to: "pattern"), "is no pattern of the dialect")) }
    }
    if let format = value["format"], !["date-time", "uri"].contains(format.string) {
      problems.append(Problem(pointer.pointer(to: "format"), "expected date-time or uri"))
    }
    let maximum = bound(value, "maxLength", at: pointer)
    return .string(
      .init(
        length: range(value["minLength"]?.integer ?? 0, maximum, at: pointer), pattern: pattern,
        format: value["format"]?.string))
  }

  private mutating func integer(_ value: JSONValue, at pointer: String) -> Schema.Kind {
    guard let low = value["minimum"]?.integer, let high = value["maximum"]?.integer else {
      problems.append(Problem(pointer, "an integer has minimum and maximum within ±(2^53-1)"))
      return .integer(0...0)
    }
    return .integer(range(low, high, at: pointer))
  }

  /// Reads a required bound: every value of the contract has a maximum size.
  private mutating func bound(_ value: JSONValue, _ keyword: String, at pointer: String) -> Int {
    guard let bound = value[keyword]?.integer, bound >= 0 else {
      problems.append(Problem(pointer, "\(keyword) is missing"))
      return 0
    }
    return bound
  }

  private mutating func range(_ low: Int, _ high: Int, at pointer: String) -> ClosedRange<Int> {
    guard low <= high else {
      problems.append(Problem(pointer, "the lower bound is above the upper one"))
      return high...high
    }
    return low...high
  }
}
