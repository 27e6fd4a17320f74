/// Validates values against schemas.
extension Contract {
  /// Every problem of `value`, with JSON Pointers into it; empty if it is valid.
  public func validate(_ value: JSONValue, against schema: Schema) -> [Problem] {
    var problems: [Problem] = []
    validate(value, schema, "", &problems)
    return problems
  }

  private func validate(_ value: JSONValue, _ schema: Schema, _ pointer: String, _ problems: inout [Problem]) {
    switch schema.kind {
    case .reference(let name):
      guard let target = type(name) else { return problems.append(Problem(pointer, "types/\(name).json is missing")) }
      validate(value, target, pointer, &problems)
    case .object(let shape): validate(value, shape, pointer, &problems)
    case .map(let shape): validate(value, shape, pointer, &problems)
    case .array(let shape):
      guard let elements = value.elements else { return problems.append(Problem(pointer, "expected array")) }
      if !shape.count.contains(elements.count) {
        problems.append(Problem(pointer, "expected \(shape.count.lowerBound) to \(shape.count.upperBound) items"))
      }
      for (index, element) in elements.enumerated() {
        validate(element, shape.items, pointer.pointer(to: index), &problems)
      }
    case .string(let shape): validate(value, shape, pointer, &problems)
    case .enumeration(let words):
      guard let text = value.string, words.contains(text) else {
        return problems.append(Problem(pointer, "expected one of \(words.joined(separator: ", "))"))
      }
    case .integer(let range):
      guard let integer = value.integer, range.contains(integer) else {
        return problems.append(Problem(pointer, "expected integer from \(range.lowerBound) to \(range.upperBound)"))
      }
    case .boolean: if value.bool == nil { problems.append(Problem(pointer, "expected true or false")) }
    case .anything: break
    }
  }

  private func validate(
    _ value: JSONValue, _ shape: Schema.ObjectShape, _ pointer: String, _ problems: inout [Problem]
  ) {
    guard let members = value.members else { return problems.append(Problem(pointer, "expected object")) }
    for member in members {
      if let known = shape.members.first(where: { $0.name == member.name }) {
        validate(member.value, known.schema, pointer.pointer(to: member.name), &problems)
      } else if shape.isClosed {
        problems.append(Problem(pointer.pointer(to: member.name), "is not known here"))
      }
    }
    for known in shape.members where known.isRequired && value[known.name] == nil {
      problems.append(Problem(pointer.pointer(to: known.name), "is missing"))
    }
    if members.count < shape.minimumMembers {
      problems.append(Problem(pointer, "expected at least \(shape.minimumMembers) members"))
    }
    if !shape.exclusive.isEmpty, shape.exclusive.allSatisfy({ value[$0] != nil }) {
      problems.append(Problem(pointer, "expected only one of \(shape.exclusive.joined(separator: ", "))"))
    }
  }

  private func validate(_ value: JSONValue, _ shape: Schema.MapShape, _ pointer: String, _ problems: inout [Problem]) {
    guard let members = value.members else { return problems.append(Problem(pointer, "expected object")) }
    if members.count > shape.maximumMembers {
      problems.append(Problem(pointer, "expected at most \(shape.maximumMembers) members"))
    }
    for member in members {
      let below = pointer.pointer(to: member.name)
      if let names = shape.names, !validate(.string(member.name), against: names).isEmpty {
        problems.append(Problem(below, "has a name that is not allowed here"))
      }
      if let values = shape.values { validate(member.value, values, below, &problems) }
    }
  }

  private func validate(
    _ value: JSONValue, _ shape: Schema.StringShape, _ pointer: String, _ problems: inout [Problem]
  ) {
    guard let text = value.string else { return problems.append(Problem(pointer, "expected string")) }
    if !shape.length.contains(text.unicodeScalars.count) {
      problems.append(
        Problem(pointer, "expected \(shape.length.lowerBound) to \(shape.length.upperBound) characters"))
    }
    if let pattern = shape.pattern, !pattern.matches(text) {
      problems.append(Problem(pointer, "expected a string like \(pattern.source)"))
    }
  }
}
