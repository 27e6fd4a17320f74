/// The names of the contract as a language writes them, for documentation.
protocol ClientNaming {
  /// A member of an object: `minimumLifetimeSeconds`.
  func member(_ name: String) -> String
  /// A method, as a caller would write it: `token.get`.
  func method(_ method: Method) -> String
  /// The error's type: `reauthenticationRequired`.
  func error(_ error: ErrorKind) -> String
  /// A value as a literal: `true`.
  func literal(_ value: JSONValue) -> String
}

/// The parts of a doc comment, before a language lays them out.
struct ClientDoc {
  /// Entries under a title: arguments, members, the result, errors.
  struct Section {
    enum Kind { case members, arguments, result, errors }
    struct Entry {
      /// What is described, as the language names it.
      var name: String
      var text: String
    }
    var kind: Kind
    var entries: [Entry]
  }

  var summary: String
  var paragraphs: [String] = []
  var sections: [Section] = []
}

/// Doc comments from the descriptions in `Schemas/`. Names of the contract that stand in backticks become those of the
/// language.
struct ClientDocumentation<Naming: ClientNaming> {
  private let contract: Contract
  private let naming: Naming
  /// Names that the language says otherwise than the contract.
  private let names: [String: String]

  init(_ contract: Contract, _ naming: Naming) {
    self.contract = contract
    self.naming = naming
    var names: [String: String] = [:]
    for schema in contract.types.map(\.schema) + contract.methods.flatMap({ [$0.params, $0.result] }) {
      for member in schema.object?.members ?? [] { names[member.name] = naming.member(member.name) }
    }
    for error in contract.errors {
      names[error.name] = naming.error(error)
      if error.code < 0 { names["\(error.code)"] = naming.error(error) }
    }
    // A word of an enumeration is a value on the wire: it stays, also where an error has the same name.
    for case .enumeration(let words) in contract.types.map(\.schema.kind) {
      for word in words { names[word] = nil }
    }
    for method in contract.methods { names[method.name] = naming.method(method) }
    self.names = names
  }

  func of(_ text: String) -> ClientDoc { ClientDoc(summary: translated(text)) }

  func of(_ schema: Schema) -> ClientDoc { of(schema.documentation) }

  func of(_ error: ErrorKind) -> ClientDoc {
    var doc = of(error.meaning)
    if error.retryable { doc.paragraphs.append("The same call may succeed later.") }
    if !error.data.isEmpty {
      // These are names on the wire, since `data` is as the agent sent it.
      doc.paragraphs.append("`data` may hold " + error.data.map { "`\($0)`" }.joined(separator: ", ") + ".")
    }
    return doc
  }

  /// A record; its section has the members that are described.
  func of(_ record: ClientContract.Record) -> ClientDoc {
    var doc = of(record.documentation)
    doc.sections = [.init(kind: .members, entries: record.members.compactMap(described))]
    return doc
  }

  /// What a member's own comment says; nil if the contract has no words for it.
  func of(_ member: ClientContract.Member) -> ClientDoc? { described(member).map { ClientDoc(summary: $0.text) } }

  /// A method, with its arguments, its result and its errors.
  func of(_ operation: ClientContract.Operation) -> ClientDoc {
    let method = operation.method
    let errors = method.errors.compactMap(contract.error)
      .map { ClientDoc.Section.Entry(name: naming.error($0), text: translated($0.meaning)) }
    var doc = of(method.summary)
    doc.paragraphs = method.description.map { [translated($0)] } ?? []
    doc.sections = [
      .init(
        kind: .arguments,
        entries: (operation.params?.members ?? []).map { member in
          described(member)
            ?? .init(name: naming.member(member.name), text: "The param `\(member.name)` of the contract.")
        }),
      .init(kind: .result, entries: [result(of: operation)]),
      .init(kind: .errors, entries: errors),
    ]
    return doc
  }

  /// The names of the errors that every call may end with, in the language's words.
  var commonErrors: [String] { contract.commonErrors.compactMap(contract.error).map(naming.error) }

  private func result(of operation: ClientContract.Operation) -> ClientDoc.Section.Entry {
    let method = operation.method
    if method.result.reference != nil {
      return .init(
        name: operation.resultName, text: translated(contract.resolved(method.result).documentation))
    }
    guard let members = method.result.object?.members, !members.isEmpty else {
      return .init(name: operation.resultName, text: "an answer without members, unless a newer agent adds some.")
    }
    return .init(
      name: operation.resultName,
      text: "with " + members.map { "`\(naming.member($0.name))`" }.joined(separator: ", ") + ".")
  }

  private func described(_ member: ClientContract.Member) -> ClientDoc.Section.Entry? {
    let type = member.schema.reference.flatMap(contract.type)
    var parts = [member.schema.description ?? type?.documentation ?? ""].filter { !$0.isEmpty }
    if let title = type?.title, parts.first?.hasPrefix("Absent") == true { parts.insert(title + ".", at: 0) }
    guard !parts.isEmpty else { return nil }
    if case .enumeration(let words)? = type?.kind {
      parts.append("One of " + words.map { "`\($0)`" }.joined(separator: ", ") + ".")
    }
    if let value = member.schema.defaultValue { parts.append("The agent's default: `\(naming.literal(value))`.") }
    return .init(name: naming.member(member.name), text: translated(parts.joined(separator: " ")))
  }

  /// The text with the names of members, methods and errors as the language has them, where they stand in backticks.
  private func translated(_ text: String) -> String {
    let parts = text.split(separator: "`", omittingEmptySubsequences: false)
    guard parts.count > 1, parts.count % 2 == 1 else { return text }
    return parts.enumerated()
      .map { index, part in index % 2 == 1 ? names[String(part)] ?? String(part) : String(part) }
      .joined(separator: "`")
  }
}
