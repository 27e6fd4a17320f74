/// Validates values against schemas.
extension Contract {
  /// Every problem of `value`, with JSON Pointers into it; empty if it is valid.
  public func validate(_ value: JSONValue, against schema: Schema) -> [Problem] {
    var validation = Validation(contract: self)
    validation.validate(value, schema, "")
    return validation.problems
  }
}

/// The validation of one value.
private struct Validation {
  let contract: Contract
  private(set) var problems: [Problem] = []

  init(contract: Contract) { self.contract = contract }

  mutating func validate(_ value: JSONValue, _ schema: Schema, _ pointer: String) {
    switch schema.kind {
    case .reference(let name):
      guard let target = contract.type(name) else { return report(pointer, "types/\(name).json is missing") }
      validate(value, target, pointer)
    case .object(let shape): validate(value, shape, pointer)
    case .map(let shape): validate(value, shape, pointer)
    case .array(let shape):
      guard let elements = value.elements else { return report(pointer, "expected array") }
      if !shape.count.contains(elements.count) {
        report(pointer, "expected \(shape.count.lowerBound) to \(shape.count.upperBound) items")
      }
      for (index, element) in elements.enumerated() {
        validate(element, shape.items, pointer.pointer(to: index))
      }
    case .string(let shape): validate(value, shape, pointer)
    case .enumeration(let words):
      guard let text = value.string, words.contains(text) else {
        return report(pointer, "expected one of \(words.joined(separator: ", "))")
      }
    case .integer(let range):
      guard let integer = value.integer, range.contains(integer) else {
        return report(pointer, "expected integer from \(range.lowerBound) to \(range.upperBound)")
      }
    case .boolean: if value.bool == nil { report(pointer, "expected true or false") }
    case .anything: break
    }
  }

  private mutating func validate(
    _ value: JSONValue, _ shape: Schema.ObjectShape, _ pointer: String
  ) {
    guard let members = value.members else { return report(pointer, "expected object") }
    for member in members {
      if let known = shape.members.first(where: { $0.name == member.name }) {
        validate(member.value, known.schema, pointer.pointer(to: member.name))
      } else if shape.isClosed {
        report(pointer.pointer(to: member.name), "is not known here")
      }
    }
    for known in shape.members where known.isRequired && value[known.name] == nil {
      report(pointer.pointer(to: known.name), "is missing")
    }
    if members.count < shape.minimumMembers {
      report(pointer, "expected at least \(shape.minimumMembers) members")
    }
    if !shape.exclusive.isEmpty, shape.exclusive.allSatisfy({ value[$0] != nil }) {
      report(pointer, "expected only one of \(shape.exclusive.joined(separator: ", "))")
    }
  }

  private mutating func validate(_ value: JSONValue, _ shape: Schema.MapShape, _ pointer: String) {
    guard let members = value.members else { return report(pointer, "expected object") }
    if members.count > shape.maximumMembers {
      report(pointer, "expected at most \(shape.maximumMembers) members")
    }
    for member in members {
      let below = pointer.pointer(to: member.name)
      if let names = shape.names, !contract.validate(.string(member.name), against: names).isEmpty {
        report(below, "has a name that is not allowed here")
      }
      if let values = shape.values { validate(member.value, values, below) }
    }
  }

  private mutating func validate(
    _ value: JSONValue, _ shape: Schema.StringShape, _ pointer: String
  ) {
    guard let text = value.string else { return report(pointer, "expected string") }
    if !shape.length.contains(text.unicodeScalars.count) {
      report(pointer, "expected \(shape.length.lowerBound) to \(shape.length.upperBound) characters")
    }
    if let pattern = shape.pattern, !pattern.matches(text) {
      report(pointer, "expected a string like \(pattern.source)")
    }
  }

  private mutating func report(_ pointer: String, _ text: String) { problems.append(Problem(pointer, text)) }
}
