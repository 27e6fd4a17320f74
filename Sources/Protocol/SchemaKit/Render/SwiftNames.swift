/// The names and types of the contract in Swift.
extension Schema {
  /// Text types that `AgentModel` parses, with their Swift types.
  static let parsedTypes = ["accountId": "AccountID", "alias": "Alias", "providerName": "ProviderName"]

  func swiftType(in contract: Contract) -> String {
    switch kind {
    case .reference("accountSelector"): return "AccountSelector"
    case .reference("instant"): return "Timestamp"
    case .reference(let name):
      if let parsed = Self.parsedTypes[name] { return parsed }
      let target = contract.type(name)!
      switch target.kind {
      case .object, .enumeration: return name.swiftTypeName
      default: return isSecret ? "Secret" : target.swiftType(in: contract)
      }
    case .string: return isSecret ? "Secret" : "String"
    case .integer: return "Int"
    case .boolean: return "Bool"
    case .anything: return "RawJSON"
    case .array(let shape): return "[\(shape.items.swiftType(in: contract))]"
    case .map(let shape): return shape.values.map { "WireMap<\($0.swiftType(in: contract))>" } ?? "RawJSON"
    case .object, .enumeration: preconditionFailure("has a name of its own")
    }
  }

  /// Title and description as one doc comment.
  var documentation: String {
    [title.map { $0.hasSuffix(".") ? $0 : $0 + "." }, description].compactMap { $0 }.joined(separator: " ")
  }
}

extension Schema.ObjectShape.Member {
  var swiftName: String { name.swiftIdentifier }
}

extension Method {
  /// `TokenGet` for `token.get`.
  var swiftName: String { name.lowerCamelCased.capitalizedFirst }
}

extension ClosedRange<Int> {
  var swiftText: String { "\(lowerBound)...\(upperBound)" }
}

extension String {
  var swiftLiteral: String { "\"" + replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\"" }

  var swiftIdentifier: String {
    let keywords: Set = [
      "as", "case", "default", "import", "in", "internal", "is", "operator", "private", "protocol", "public", "self",
      "switch", "where",
    ]
    return keywords.contains(self) ? "`\(self)`" : self
  }

  /// `WireToken` for `token`. The prefix separates wire types from types of the same name in `AgentModel`.
  var swiftTypeName: String { self == "eventType" ? "EventType" : "Wire" + capitalizedFirst }

  /// `accountAdded` for `account.added`.
  var lowerCamelCased: String {
    let parts = split(separator: ".")
    return parts.dropFirst().reduce(String(parts.first ?? "")) { $0 + String($1).capitalizedFirst }
  }

  /// The name of the `TextRule` of a member with a pattern and no type of its own.
  func ruleName(_ member: String) -> String { isEmpty ? member : self + member.capitalizedFirst }
}

/// A `TextRule` of the generated code.
struct NamedRule {
  var name: String
  var shape: Schema.StringShape
}

extension Contract {
  /// The rules of all types that occur in params, sorted by name.
  func namedRules(for readTypes: Set<String>) -> [NamedRule] {
    var rules: [String: Schema.StringShape] = [:]
    func note(_ shape: Schema.StringShape, _ name: String) {
      precondition(rules[name] == nil || rules[name] == shape, "two rules named \(name): give them a type each")
      rules[name] = shape
    }
    func note(_ schema: Schema, _ name: String) {
      switch schema.kind {
      case .string(let shape) where shape.pattern != nil: note(shape, name)
      case .array(let shape): note(shape.items, name)
      case .map(let shape):
        if let values = shape.values { note(values, name) }
        if let names = shape.names, case .string(let shape) = names.kind { note(shape, name.ruleName("names")) }
      case .object(let shape): for member in shape.members { note(member.schema, name.ruleName(member.name)) }
      default: break
      }
    }
    for (name, schema) in types where readTypes.contains(name) {
      note(schema, name)
      if name == "accountSelector", case .string(let shape) = schema.kind { rules[name] = shape }
    }
    for method in methods { note(method.params, "") }
    return rules.sorted { $0.key < $1.key }.map { NamedRule(name: $0.key, shape: $0.value) }
  }
}
