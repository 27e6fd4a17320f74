/// The doc strings of the Python client, from the descriptions in `Schemas/`.
struct PythonDocumentation {
  private let contract: Contract
  /// Names that a doc string says otherwise than the contract: `policyInvalid` is the class `PolicyInvalid`.
  private let names: [String: String]

  init(_ contract: Contract) {
    self.contract = contract
    var names: [String: String] = [:]
    for schema in contract.types.map(\.schema) + contract.methods.flatMap({ [$0.params, $0.result] }) {
      for member in schema.object?.members ?? [] { names[member.name] = member.name.pythonName }
    }
    // A word of an enumeration is a value on the wire: it stays.
    for case .enumeration(let words) in contract.types.map(\.schema.kind) {
      for word in words { names[word] = nil }
    }
    for error in contract.errors {
      names[error.name] = error.name.capitalizedFirst
      if error.code < 0 { names["\(error.code)"] = error.name.capitalizedFirst }
    }
    for method in contract.methods { names[method.name] = Self.pythonName(of: method) }
    self.names = names
  }

  func pythonName(of method: Method) -> String { Self.pythonName(of: method) }

  private static func pythonName(of method: Method) -> String {
    "\(method.namespace.snakeCased).\(method.verb.pythonName)"
  }

  func of(_ schema: Schema) -> PythonDoc { PythonDoc(inPython(schema.documentation)) }

  func of(_ error: ErrorKind) -> PythonDoc {
    var paragraphs = error.retryable ? ["The same call may succeed later."] : []
    if !error.data.isEmpty {
      paragraphs.append("`data` may hold " + error.data.map { "`\($0)`" }.joined(separator: ", ") + ".")
    }
    return PythonDoc(inPython(error.meaning), paragraphs: paragraphs)
  }

  /// A class with the members that have a description.
  func of(_ summary: String, members: [Schema.ObjectShape.Member]) -> PythonDoc {
    let described = members.filter(\.isRequired) + members.filter { !$0.isRequired }
    return PythonDoc(
      inPython(summary),
      sections: [.init(title: "Attributes", entries: described.compactMap { entry(of: $0, mustBeDescribed: true) })])
  }

  func of(_ method: Method, members: [Schema.ObjectShape.Member]) -> PythonDoc {
    let ordered = members.filter(\.isRequired) + members.filter { !$0.isRequired }
    let errors = method.errors.compactMap(contract.error).map { "\($0.name.capitalizedFirst): \(inPython($0.meaning))" }
    return PythonDoc(
      inPython(method.summary), paragraphs: method.description.map { [inPython($0)] } ?? [],
      sections: [
        .init(title: "Args", entries: ordered.compactMap { entry(of: $0, mustBeDescribed: false) }),
        .init(title: "Returns", entries: [result(of: method)]),
        .init(title: "Raises", entries: errors + [commonErrors]),
      ])
  }

  private func result(of method: Method) -> String {
    let name = method.resultName
    if method.result.reference != nil { return "\(name): \(inPython(contract.resolved(method.result).documentation))" }
    guard let members = method.result.object?.members, !members.isEmpty else {
      return "\(name): an answer without attributes, unless a newer agent adds some in `extra`."
    }
    return "\(name): with " + members.map { "`\($0.name.pythonName)`" }.joined(separator: ", ") + "."
  }

  private var commonErrors: String {
    "LanyardError: what every call may raise: "
      + contract.commonErrors.map { "`\($0.capitalizedFirst)`" }.joined(separator: ", ")
      + ", and the failures of the connection."
  }

  /// `name: text`; nil without a description, where one is a must.
  private func entry(of member: Schema.ObjectShape.Member, mustBeDescribed: Bool) -> String? {
    let type = member.schema.reference.flatMap(contract.type)
    var parts = [member.schema.description ?? type?.documentation ?? ""].filter { !$0.isEmpty }
    if let title = type?.title, parts.first?.hasPrefix("Absent") == true { parts.insert(title + ".", at: 0) }
    if parts.isEmpty {
      guard !mustBeDescribed else { return nil }
      parts = ["The param `\(member.name)` of the contract."]
    }
    if case .enumeration(let words)? = type?.kind {
      parts.append("One of " + words.map { "`\($0)`" }.joined(separator: ", ") + ".")
    }
    if let value = member.schema.defaultValue {
      let words = ["true": "True", "false": "False"]
      parts.append("The agent's default: `\(words[value.compact] ?? value.compact)`.")
    }
    return "\(member.name.pythonName): " + inPython(parts.joined(separator: " "))
  }

  /// The text with the names of members, methods and errors as Python has them, where they stand in backticks.
  private func inPython(_ text: String) -> String {
    let parts = text.split(separator: "`", omittingEmptySubsequences: false)
    guard parts.count > 1, parts.count % 2 == 1 else { return text }
    return parts.enumerated()
      .map { index, part in index % 2 == 1 ? names[String(part)] ?? String(part) : String(part) }
      .joined(separator: "`")
  }
}
