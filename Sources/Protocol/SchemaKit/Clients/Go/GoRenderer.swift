/// Generates the errors, types, events and methods of the Go client, and the dispatch of its conformance driver.
struct GoRenderer: ClientRenderer {
  private let contract: ClientContract
  private let documentation: ClientDocumentation<GoNaming>

  init(_ contract: Contract) {
    self.contract = ClientContract(contract)
    documentation = ClientDocumentation(contract, GoNaming(contract))
  }

  static func files(of contract: Contract) -> [RenderedFile] {
    let renderer = Self(contract)
    return [
      RenderedFile(path: "Clients/go/errors_generated.go", text: renderer.errors),
      RenderedFile(path: "Clients/go/events_generated.go", text: renderer.events),
      RenderedFile(path: "Clients/go/methods_generated.go", text: renderer.methods),
      RenderedFile(path: "Clients/go/types_generated.go", text: renderer.types),
      RenderedFile(path: "Clients/go/conformance/typed_generated.go", text: renderer.dispatch),
    ]
  }

  // MARK: Errors

  private var errors: String {
    var go = GoText(package: "lanyard", imports: [])
    let all = contract.standardErrors + contract.errors
    go.line()
    go.line("// The errors of the contract, for errors.Is.")
    go.line("const (")
    go.indented { go in
      for error in all {
        go.doc("\(GoNames.constant(of: error)) is the error \(error.code): \(documentation.of(error).summary)")
        go.line("\(GoNames.constant(of: error)) ErrorName = \"\(error.name)\"")
      }
    }
    go.line(")")
    go.line()
    go.line("var codeNames = map[int64]ErrorName{")
    go.indented { go in
      go.rows(all.map { .init(comment: nil, cells: ["\($0.code):", "\(GoNames.constant(of: $0)),"]) })
    }
    go.line("}")
    for error in all { write(error, &go) }
    go.line()
    go.line("// typedError gives an error of the contract its own type.")
    go.block("func typedError(told *Error) error") { go in
      go.line("switch told.Code {")
      for error in all {
        go.line("case \(error.code):")
        go.indented { $0.line("return &\(GoNames.type(of: error)){told}") }
      }
      go.line("}")
      go.line("return told")
    }
    return go.text
  }

  private func write(_ error: ErrorKind, _ go: inout GoText) {
    let doc = documentation.of(error)
    let type = GoNames.type(of: error)
    go.line()
    go.doc(paragraphs: ["\(type) is the error \(error.name) (\(error.code)): \(doc.summary)"] + doc.paragraphs)
    go.line("type \(type) struct{ *base }")
    go.line()
    go.line("// Unwrap returns the error in the form that all errors have.")
    go.line("func (e *\(type)) Unwrap() error { return e.base }")
  }

  // MARK: Types

  private var types: String {
    var go = GoText(package: "lanyard", imports: ["encoding/json", "time"])
    go.line()
    go.line("// Protocol is the version of the protocol that this client speaks.")
    go.line("const Protocol = \"\(contract.contract.protocolVersion)\"")
    for enumeration in contract.enumerations { write(enumeration, &go) }
    for record in contract.records { write(record, &go) }
    return go.text
  }

  private func write(_ enumeration: ClientContract.Enumeration, _ go: inout GoText) {
    let name = GoNames.exported(enumeration.name)
    go.line()
    go.doc("\(name): \(documentation.of(enumeration.documentation).summary) A newer agent may send other words.")
    go.line("type \(name) string")
    go.line()
    go.line("// The words of \(name) that this version knows.")
    go.line("const (")
    go.indented { go in
      go.rows(
        enumeration.words.map { .init(comment: nil, cells: [name + GoNames.exported($0), name, "= \"\($0)\""]) })
    }
    go.line(")")
  }

  private func write(_ record: ClientContract.Record, _ go: inout GoText) {
    let name = GoNames.exported(record.name)
    go.line()
    go.doc("\(name): \(documentation.of(record.documentation).summary)")
    go.block("type \(name) struct") { go in
      let members = record.members.map { member in
        let options = member.isRequired ? "" : ",omitempty"
        return GoText.Row(
          comment: documentation.of(member)?.summary,
          cells: [
            GoNames.exported(member.name), type(of: member), "`json:\"\(member.name)\(options)\"`",
          ])
      }
      let extra = GoText.Row(
        comment: "Extra holds members that this version does not know.", cells: ["Extra", "Extra", "`json:\"-\"`"])
      go.rows(members + [extra])
    }
  }

  private func type(of member: ClientContract.Member) -> String {
    let name = goType(member.type)
    if member.isRequired { return name }
    switch member.type {
    // These have a value that says that there is none.
    case .list, .map, .secret, .anything: return name
    default: return "*" + name
    }
  }

  private func goType(_ type: ClientType) -> String {
    switch type {
    case .record(let name), .enumeration(let name): return GoNames.exported(name)
    case .list(let items): return "[]" + goType(items)
    case .map(let values): return "map[string]" + goType(values)
    case .text: return "string"
    case .secret: return "Secret"
    case .instant: return "time.Time"
    case .integer: return "int64"
    case .boolean: return "bool"
    case .anything: return "json.RawMessage"
    }
  }

  // MARK: Events

  private var events: String {
    var go = GoText(package: "lanyard", imports: dataImports)
    for event in contract.events { write(event.data, &go) }
    go.line()
    go.doc(
      paragraphs: [
        "Payload reads the data of an event by the event's type, as a pointer to a type such as SessionExpiredData. It is nil "
          + "for a type of event that this version does not know, whose members are in Data."
      ])
    go.block("func (e *EventNotification) Payload() (any, error)") { go in
      go.line("switch e.Type {")
      for event in contract.events {
        go.line("case EventType\(GoNames.exported(event.kind.name)):")
        go.indented { $0.line("return payload[\(GoNames.exported(event.data.name))](e)") }
      }
      go.line("}")
      go.line("return nil, nil")
    }
    return go.text
  }

  private var dataImports: [String] {
    let types = contract.events.flatMap { $0.data.members.map { goType($0.type) } }.joined(separator: " ")
    return [("json.", "encoding/json"), ("time.", "time")].filter { types.contains($0.0) }.map(\.1)
  }

  // MARK: Methods

  private var methods: String {
    var go = GoText(package: "lanyard", imports: paramsImports)
    go.line()
    go.line("// carriesBody reports whether the line of a method may be as long as a body.")
    go.block("func carriesBody(method string) bool") { go in
      go.line("switch method {")
      for operation in contract.operations where operation.method.carriesBody {
        go.line("case \"\(operation.method.name)\":")
        go.indented { $0.line("return true") }
      }
      go.line("}")
      go.line("return false")
    }
    go.line()
    go.line("// Methods has every method of the contract, by namespace.")
    go.block("type Methods struct") { go in
      go.rows(
        contract.namespaces.map { namespace in
          let name = GoNames.exported(namespace.name)
          return .init(comment: nil, cells: [name, "*\(name)Methods"])
        })
    }
    go.line()
    go.line("// NewMethods makes methods that call through a Caller.")
    go.block("func NewMethods(caller Caller) Methods") { go in
      go.line("return Methods{")
      go.indented { go in
        go.rows(
          contract.namespaces.map { namespace in
            let name = GoNames.exported(namespace.name)
            return .init(comment: nil, cells: ["\(name):", "&\(name)Methods{caller},"])
          })
      }
      go.line("}")
    }
    for namespace in contract.namespaces { write(namespace, &go) }
    return go.text
  }

  private var paramsImports: [String] {
    let types = contract.operations.flatMap { $0.params?.members.map { goType($0.type) } ?? [] }.joined(separator: " ")
    return ["context"] + [("json.", "encoding/json"), ("time.", "time")].filter { types.contains($0.0) }.map(\.1)
  }

  private func write(_ namespace: ClientContract.Namespace, _ go: inout GoText) {
    let type = GoNames.exported(namespace.name) + "Methods"
    go.line()
    go.line("// \(type) has the methods \(namespace.name).* of the contract.")
    go.line("type \(type) struct{ caller Caller }")
    for operation in namespace.operations {
      write(params(of: operation), &go)
      go.line()
      go.doc(paragraphs: paragraphs(of: operation))
      let verb = GoNames.exported(operation.method.verb)
      let params = GoNames.exported(params(of: operation).name)
      let result = GoNames.exported(operation.resultName)
      go.block("func (m *\(type)) \(verb)(ctx context.Context, params *\(params)) (*\(result), error)") { go in
        go.line("return invoke[\(result)](ctx, m.caller, \"\(operation.method.name)\", params)")
      }
    }
  }

  /// Also a method without params has a record of them: the contract may add optional ones.
  private func params(of operation: ClientContract.Operation) -> ClientContract.Record {
    operation.params
      ?? ClientContract.Record(
        name: operation.method.namespace.capitalizedFirst + operation.method.verb.capitalizedFirst + "Params",
        documentation: "The params of `\(operation.method.name)`: there are none yet.", members: [],
        method: operation.method, isClosed: true)
  }

  private func paragraphs(of operation: ClientContract.Operation) -> [String] {
    let doc = documentation.of(operation)
    let errors = operation.method.errors.compactMap(contract.contract.error).map(GoNames.constant)
    var paragraphs = ["\(GoNames.exported(operation.method.verb)) \(doc.summary.uncapitalizedFirst)"] + doc.paragraphs
    if operation.paramsAreOptional { paragraphs.append("The params may be nil.") }
    if !errors.isEmpty {
      paragraphs.append("Besides what every call may fail with: \(errors.joined(separator: ", ")).")
    }
    return paragraphs
  }

  // MARK: Conformance

  private var dispatch: String {
    var go = GoText(
      package: "main", imports: ["context", "encoding/json", "", "lanyard.example/go/lanyard"])
    go.line()
    go.line("// callTyped calls the generated method of a name.")
    go.line("func callTyped(")
    go.indented { $0.line("ctx context.Context, client *lanyard.Client, method string, params json.RawMessage,") }
    go.block(") (any, error)") { go in
      go.line("switch method {")
      for operation in contract.operations {
        let path = GoNames.path(of: operation.method)
        go.line("case \"\(operation.method.name)\":")
        go.indented { $0.line("return callWith(ctx, params, client.\(path))") }
      }
      go.line("}")
      go.line("return nil, errUnknownMethod")
    }
    return go.text
  }
}
