/// Generates a struct for an object type: members, initializer, reader and writer.
extension SwiftRenderer {
  func writeStruct(
    _ name: String, _ shape: Schema.ObjectShape, rulePrefix: String, reads: Bool, writes: Bool,
    conformances: [String], eventType: String? = nil, _ source: inout SourceText
  ) {
    let protocols =
      (reads ? ["WireReadable"] : []) + (writes && conformances.isEmpty ? ["WireWritable"] : []) + conformances
      + ["Sendable"]
    source.block("public struct \(name): \(protocols.joined(separator: ", "))") { source in
      if let eventType { source.line("public static let type = EventType.\(eventType)") }
      for member in shape.members {
        if let description = member.schema.description { source.doc(description) }
        source.line("public var \(member.swiftName): \(memberType(member))")
      }
      if !shape.members.isEmpty { source.line() }
      // What is only read is never made in another way.
      if writes { writeInitializer(shape, &source) }
      if reads {
        if writes { source.line() }
        writeReader(shape, rulePrefix: rulePrefix, &source)
      }
      if writes {
        source.line()
        writeWriter(shape, &source)
      }
    }
  }

  /// A member with a default is not optional: reading fills the default in.
  private func memberType(_ member: Schema.ObjectShape.Member) -> String {
    let type = member.schema.swiftType(in: contract)
    return member.isRequired || member.schema.defaultValue != nil ? type : type + "?"
  }

  private func defaultLiteral(_ schema: Schema) -> String? {
    guard let value = schema.defaultValue else { return nil }
    if case .enumeration = contract.resolved(schema).kind { return "." + (value.string ?? "").swiftIdentifier }
    return value.compact
  }

  private func writeInitializer(_ shape: Schema.ObjectShape, _ source: inout SourceText) {
    guard !shape.members.isEmpty else { return source.line("public init() {}") }
    source.line("public init(")
    source.indented { source in
      for (index, member) in shape.members.enumerated() {
        let value = member.isRequired ? "" : " = " + (defaultLiteral(member.schema) ?? "nil")
        let end = index == shape.members.count - 1 ? "" : ","
        source.line("\(member.swiftName): \(memberType(member))\(value)\(end)")
      }
    }
    source.block(")") { source in
      for member in shape.members { source.line("self.\(member.swiftName) = \(member.swiftName)") }
    }
  }

  private func writeReader(_ shape: Schema.ObjectShape, rulePrefix: String, _ source: inout SourceText) {
    source.block("public init(from node: JSONNode) throws(ParamsProblem)") { source in
      source.line("guard node.kind == .object else { throw ParamsProblem(expected: \"object\") }")
      guard !shape.members.isEmpty else {
        return source.line("for (name, _) in node.members { throw ParamsProblem.unknownMember(name) }")
      }
      for member in shape.members {
        let type = member.schema.swiftType(in: contract)
        if let value = defaultLiteral(member.schema) {
          source.line("var \(member.swiftName): \(type) = \(value)")
        } else {
          source.line("var \(member.swiftName): \(type)?")
        }
      }
      source.block("for (memberName, memberValue) in node.members") { source in
        for (index, member) in shape.members.enumerated() {
          let name = member.name.swiftLiteral
          source.line((index == 0 ? "" : "} else ") + "if memberName.isText(\(name)) {")
          let read = readExpression(member.schema, of: "memberValue", ruleName: rulePrefix.ruleName(member.name))
          source.line(
            "  \(member.swiftName) = try reading(\(name)) { () throws(ParamsProblem) in try \(read) }")
        }
        source.line("} else {")
        source.line("  throw ParamsProblem.unknownMember(memberName)")
        source.line("}")
      }
      for member in shape.members where member.isRequired {
        source.line(
          "guard let \(member.swiftName) else { throw ParamsProblem.missing(\(member.name.swiftLiteral), "
            + "expected: \(expectation(member.schema).swiftLiteral)) }")
      }
      if let last = shape.exclusive.last {
        let test = shape.exclusive.map { "\($0.swiftIdentifier) != nil" }.joined(separator: ", ")
        source.line(
          "if \(test) { throw ParamsProblem(path: \("/\(last)".swiftLiteral), "
            + "expected: \("only one of \(shape.exclusive.joined(separator: ", "))".swiftLiteral)) }")
      }
      for member in shape.members { source.line("self.\(member.swiftName) = \(member.swiftName)") }
    }
  }

  /// The `expected` of `ParamsProblem` for a missing member.
  private func expectation(_ schema: Schema) -> String {
    switch contract.resolved(schema).kind {
    case .object, .map: "object"
    case .array: "array"
    case .string: "string"
    case .enumeration(let words): "one of " + words.joined(separator: ", ")
    case .integer(let range): "integer from \(range.lowerBound) to \(range.upperBound)"
    case .boolean: "boolean"
    case .anything, .reference: "any value"
    }
  }

  private func readExpression(_ schema: Schema, of value: String, ruleName: String) -> String {
    if let name = schema.reference {
      switch name {
      case "accountSelector": return "AccountSelector(\(value).text(.accountSelector))"
      case "instant": return "\(value).timestamp()"
      case let name where Schema.parsedTypes[name] != nil:
        return "\(value).text(.\(name), as: \(Schema.parsedTypes[name]!).init)"
      default: break
      }
      let target = contract.type(name)!
      switch target.kind {
      case .object: return "\(name.swiftTypeName)(from: \(value))"
      case .enumeration: return "\(value).word(\(name.swiftTypeName).self)"
      default:
        var target = target
        target.isSecret = target.isSecret || schema.isSecret
        return readExpression(target, of: value, ruleName: name)
      }
    }
    switch schema.kind {
    case .string(let shape):
      let length = shape.length.swiftText
      if schema.isSecret { return "\(value).secret(\(length))" }
      return "\(value).text(\(shape.pattern == nil ? "TextRule(\(length))" : ".\(ruleName)"))"
    case .integer(let range): return "\(value).integer(\(range.swiftText))"
    case .boolean: return "\(value).boolean()"
    case .anything: return "\(value).json()"
    case .array(let shape):
      let item = readExpression(shape.items, of: "item", ruleName: ruleName)
      return "\(value).list(\(shape.count.swiftText)) { (item) throws(ParamsProblem) in try \(item) }"
    case .map(let shape):
      guard let values = shape.values else { return "\(value).jsonObject(atMost: \(shape.maximumMembers))" }
      let item = readExpression(values, of: "item", ruleName: ruleName)
      let names = shape.names.map { "." + ($0.reference ?? ruleName.ruleName("names")) } ?? "nil"
      return
        "\(value).map(atMost: \(shape.maximumMembers), names: \(names)) { (item) throws(ParamsProblem) in try \(item) }"
    case .object, .enumeration, .reference: preconditionFailure("has a name of its own: \(schema)")
    }
  }

  private func writeWriter(_ shape: Schema.ObjectShape, _ source: inout SourceText) {
    source.block("public func write(to writer: inout JSONWriter)") { source in
      source.line("writer.beginObject()")
      for member in shape.members {
        let write = writeStatement(member.schema, member.swiftName, to: "writer")
        let key = "writer.key(\(member.name.swiftLiteral))"
        if member.isRequired || member.schema.defaultValue != nil {
          source.line(key)
          source.line(write)
        } else {
          source.block("if let \(member.swiftName)") { source in
            source.line(key)
            source.line(write)
          }
        }
      }
      source.line("writer.endObject()")
    }
  }

  private func writeStatement(_ schema: Schema, _ value: String, to writer: String) -> String {
    if let name = schema.reference {
      if name == "instant" { return "\(writer).timestamp(\(value))" }
      if Schema.parsedTypes[name] != nil { return "\(writer).string(\(value).text)" }
      let target = contract.type(name)!
      switch target.kind {
      case .object: return "\(value).write(to: &\(writer))"
      case .enumeration: return "\(writer).string(\(value).rawValue)"
      default: return writeStatement(target, value, to: writer)
      }
    }
    switch schema.kind {
    case .string: return schema.isSecret ? "\(writer).secret(\(value))" : "\(writer).string(\(value))"
    case .integer: return "\(writer).integer(\(value))"
    case .boolean: return "\(writer).bool(\(value))"
    case .anything: return "\(value).write(to: &\(writer))"
    case .array(let shape):
      return "\(writer).list(\(value)) { item, writer in \(writeStatement(shape.items, "item", to: "writer")) }"
    case .map(let shape):
      guard let values = shape.values else { return "\(value).write(to: &\(writer))" }
      return "\(writer).map(\(value)) { item, writer in \(writeStatement(values, "item", to: "writer")) }"
    case .object, .enumeration, .reference: preconditionFailure("has a name of its own: \(schema)")
    }
  }
}
