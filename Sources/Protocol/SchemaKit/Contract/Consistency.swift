/// Rules that concern several files, or a schema's place in a file.
struct ConsistencyCheck {
  private let contract: Contract
  private(set) var problems: [Problem]

  init(of contract: Contract) {
    self.contract = contract
    problems = Self.recursiveTypes(of: contract)
    // The checks below follow references to their end, which a recursive type does not have.
    guard problems.isEmpty else { return }
    for (name, schema) in contract.types { check(schema, at: "types/\(name).json", isRoot: true) }
    for method in contract.methods { check(method) }
    for event in contract.events { check(event) }
    checkErrors()
    if case .enumeration(let words)? = contract.type("eventType")?.kind, words != contract.events.map(\.name) {
      problems.append(Problem("types/eventType.json/enum", "is not the list of events of lanyard.json"))
    }
  }

  /// Recursive types. The contract has none, so that values have a bounded depth.
  private static func recursiveTypes(of contract: Contract) -> [Problem] {
    contract.types.compactMap { name, schema in
      contract.reach(of: [schema]).contains(name) ? Problem("types/\(name).json", "contains itself") : nil
    }
  }

  private mutating func check(_ method: Method) {
    let path = "methods/\(method.name).json"
    let params = contract.resolved(method.params)
    let result = contract.resolved(method.result)
    check(method.params, at: path + "/params", isRoot: true)
    check(method.result, at: path + "/result", isRoot: true)
    if params.object?.isClosed != true { problems.append(Problem(path + "/params", "expected a closed object")) }
    switch result.kind {
    case .object(let shape) where shape.isClosed: problems.append(Problem(path + "/result", "a result may grow"))
    case .object, .map: break
    default: problems.append(Problem(path + "/result", "a result is an object"))
    }
    if method.accountScoped {
      let asks = params.object?.members.contains {
        $0.name == "account" && $0.isRequired && $0.schema.reference == "accountSelector"
      }
      let tells = result.object?.members.contains {
        $0.name == "account" && $0.isRequired && $0.schema.reference == "accountId"
      }
      if asks != true { problems.append(Problem(path + "/params", "account-scoped: expected a required account")) }
      if tells != true { problems.append(Problem(path + "/result", "account-scoped: expected the account's id")) }
    }
    for name in method.errors where contract.error(name) == nil || contract.commonErrors.contains(name) {
      problems.append(Problem(path + "/errors", "\(name) is not in errors.json, or common"))
    }
    if method.examples.isEmpty { problems.append(Problem(path + "/examples", "expected at least one")) }
    for (index, example) in method.examples.enumerated() {
      let at = path + "/examples/\(index)"
      problems += contract.validate(example.params, against: method.params).map {
        Problem(at + "/params" + $0.pointer, $0.text)
      }
      problems += contract.validate(example.result, against: method.result).map {
        Problem(at + "/result" + $0.pointer, $0.text)
      }
      for secret in secrets(in: example.params, method.params) + secrets(in: example.result, method.result)
      where !secret.contains("not-a-real-") {
        problems.append(Problem(at, "the secret of an example says so itself: not-a-real-…"))
      }
    }
  }

  private mutating func check(_ event: EventKind) {
    let path = "events/\(event.name).json"
    check(event.data, at: path + "/data", isRoot: true)
    if event.data.object == nil { problems.append(Problem(path + "/data", "expected an object")) }
    if event.examples.isEmpty { problems.append(Problem(path + "/examples", "expected at least one")) }
    for (index, example) in event.examples.enumerated() {
      problems += contract.validate(example, against: event.data).map {
        Problem(path + "/examples/\(index)" + $0.pointer, $0.text)
      }
    }
  }

  private mutating func checkErrors() {
    if Set(contract.errors.map(\.code)).count != contract.errors.count
      || Set(contract.errors.map(\.name)).count != contract.errors.count
    {
      problems.append(Problem("errors.json", "names a code or a name twice"))
    }
    let members = contract.type("errorData")?.object?.members.map(\.name) ?? []
    for error in contract.errors {
      for name in error.data where !members.contains(name) {
        problems.append(Problem("errors.json", "\(error.name): types/errorData.json has no \(name)"))
      }
    }
  }

  /// Objects and enumerations must be files of `types/`, so that each language has a name for them.
  private mutating func check(_ schema: Schema, at path: String, isRoot: Bool) {
    switch schema.kind {
    case .reference(let name):
      if contract.type(name) == nil { problems.append(Problem(path, "types/\(name).json is missing")) }
    case .object(let shape):
      if !isRoot { problems.append(Problem(path, "an object inside of another has a file in types/")) }
      for member in shape.members {
        check(member.schema, at: path + "/properties/" + member.name, isRoot: false)
      }
    case .map(let shape):
      if let values = shape.values { check(values, at: path + "/additionalProperties", isRoot: false) }
    case .array(let shape): check(shape.items, at: path + "/items", isRoot: false)
    case .enumeration: if !isRoot { problems.append(Problem(path, "a set of words has a file in types/")) }
    case .string, .integer, .boolean, .anything: break
    }
  }

  private func secrets(in value: JSONValue, _ schema: Schema) -> [String] {
    let schema = contract.resolved(schema)
    switch (schema.kind, value) {
    case (.string, .string(let text)): return schema.isSecret ? [text] : []
    case (.object(let shape), _):
      return shape.members.flatMap { member in value[member.name].map { secrets(in: $0, member.schema) } ?? [] }
    case (.array(let shape), .array(let elements)): return elements.flatMap { secrets(in: $0, shape.items) }
    default: return []
    }
  }
}
