/// Generates `src/generated/` of the Rust client, and its driver's table of methods. The files are tables: the macros in
/// `src/tables/`, which are written by hand, turn them into types and methods.
struct RustRenderer: ClientRenderer {
  let contract: ClientContract
  let documentation: ClientDocumentation<RustNaming>

  init(_ contract: Contract) {
    self.contract = ClientContract(contract)
    documentation = ClientDocumentation(contract, RustNaming())
  }

  static func files(of contract: Contract) -> [RenderedFile] {
    let renderer = Self(contract)
    return [
      ("src/generated/mod.rs", renderer.root),
      ("src/generated/enumerations.rs", renderer.enumerations),
      ("src/generated/errors.rs", renderer.errors),
      ("src/generated/events.rs", renderer.events),
      ("src/generated/methods.rs", renderer.methods),
      ("src/generated/params.rs", renderer.params),
      ("src/generated/types.rs", renderer.types),
      ("conformance/src/typed.rs", renderer.calls),
    ].map { RenderedFile(path: "Clients/rust/\($0)", text: $1.text) }
  }

  private var root: SourceText {
    let modules = ["enumerations", "errors", "events", "methods", "params", "types"]
    var source = SourceText(rust: ())
    source.head("The contract of the agent: its types, methods, errors and events.")
    for module in modules {
      // The macro that `errors!` makes is for the modules that follow.
      if module == "errors" { source.line("#[macro_use]") }
      source.line("mod \(module);")
    }
    source.line()
    for module in modules { source.line("pub use \(module)::*;") }
    source.line()
    source.doc("The version of the protocol, for `agent.hello`.")
    source.line("pub const PROTOCOL: &str = \"\(contract.contract.protocolVersion)\";")
    source.line()
    source.doc("The methods whose request line may have `bodyLineBytes`.")
    let names = contract.operations.filter(\.method.carriesBody).map(\.method.name)
    source.line("pub(crate) const BODY_METHODS: [&str; \(names.count)] = [")
    source.indented { source in for name in names { source.line("\"\(name)\",") } }
    source.line("];")
    return source
  }

  private var enumerations: SourceText {
    var source = SourceText(rust: ())
    source.head("")
    source.block("words!") { source in
      for (index, enumeration) in contract.enumerations.enumerated() {
        let variants = enumeration.words.map(\.rustVariant)
        precondition(
          Set(variants).count == variants.count && !variants.contains("Unrecognized"),
          "two words of \(enumeration.name) have one name in Rust")
        if index > 0 { source.line() }
        source.doc(documentation.of(enumeration.documentation.isEmpty ? enumeration.name : enumeration.documentation))
        let words = zip(enumeration.words, variants).map { word, variant in "\(variant) = \"\(word)\"," }
        source.filled("\(enumeration.name) {", words, "}")
      }
    }
    return source
  }

  private var errors: SourceText {
    var source = SourceText(rust: ())
    source.head("")
    source.block("errors!") { source in
      source.line("error_text;")
      for error in contract.standardErrors + contract.errors {
        source.doc(documentation.of(error.meaning))
        let retryable = error.retryable ? " retryable" : ""
        let head = "\(error.name.capitalizedFirst)(\(error.code), \"\(error.name)\")\(retryable)"
        guard !error.data.isEmpty else { source.line("\(head);"); continue }
        source.filled("\(head) [", error.data.map { "\($0)," }, "];")
      }
    }
    return source
  }

  private var methods: SourceText {
    var source = SourceText(rust: ())
    source.head("")
    source.line("use super::*;")
    source.line()
    source.block("methods!") { source in
      source.line("error_text;")
      let common = contract.contract.commonErrors.map(\.capitalizedFirst)
      source.line("[\(common.joined(separator: ", "))]")
      for namespace in contract.namespaces {
        let type = "\(namespace.name.capitalizedFirst)Methods"
        source.line()
        source.block("\"\(namespace.name)\" \(namespace.name.rustName): \(type), Async\(type)") { source in
          for (index, operation) in namespace.operations.enumerated() {
            if index > 0 { source.line() }
            var doc = documentation.of(operation)
            doc.sections = []
            source.doc(doc)
            write(operation, &source)
          }
        }
      }
    }
    return source
  }

  /// A method's name, params, result and errors.
  private func write(_ operation: ClientContract.Operation, _ source: inout SourceText) {
    let method = operation.method
    let head = "\"\(method.name)\" \(method.verb.rustName)(\(operation.params?.name ?? "")) -> \(operation.resultName)"
    guard !method.errors.isEmpty else { return source.line("\(head);") }
    source.filled("\(head) or [", method.errors.map { "\($0.capitalizedFirst)," }, "];")
  }

  /// The driver's table: the generated method of each name, with params from JSON.
  private var calls: SourceText {
    var source = SourceText(rust: ())
    source.head("")
    source.line("use lanyard::*;")
    source.line()
    source.line("use crate::outcome::{calls, ended, params, Typed};")
    source.line()
    source.block("calls!") { source in
      for namespace in contract.namespaces {
        for operation in namespace.operations {
          let verb = "\(namespace.name.rustName) \(operation.method.verb.rustName)"
          source.line("\"\(operation.method.name)\" \(verb)(\(operation.params?.name ?? ""))")
        }
      }
    }
    return source
  }
}
