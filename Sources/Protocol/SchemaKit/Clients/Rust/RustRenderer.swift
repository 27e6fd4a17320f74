/// Generates `src/generated/` of the Rust client, and its driver's table of methods.
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
      ("src/generated/methods.rs", renderer.methods(isAsync: false)),
      ("src/generated/methods_async.rs", renderer.methods(isAsync: true)),
      ("src/generated/params.rs", renderer.params),
      ("src/generated/types.rs", renderer.types),
      ("conformance/src/typed.rs", renderer.table),
    ].map { RenderedFile(path: "Clients/rust/\($0)", text: $1.text) }
  }

  private var root: SourceText {
    var source = SourceText(rust: ())
    source.head("The contract of the agent: its types, methods, errors and events.")
    for (module, note) in [
      ("enumerations", ""), ("errors", ""), ("events", ""), ("methods", ""), ("methods_async", "tokio"), ("params", ""),
      ("types", ""),
    ] {
      if !note.isEmpty { source.line("#[cfg(feature = \"\(note)\")]") }
      source.line("mod \(module);")
    }
    source.line()
    for module in ["enumerations", "errors", "events", "methods"] { source.line("pub use \(module)::*;") }
    source.line("#[cfg(feature = \"tokio\")]")
    source.line("pub use methods_async::*;")
    for module in ["params", "types"] { source.line("pub use \(module)::*;") }
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
    source.line("use crate::words::open_enumeration;")
    for enumeration in contract.enumerations {
      let variants = enumeration.words.map(\.rustVariant)
      precondition(
        Set(variants).count == variants.count && !variants.contains("Unrecognized"),
        "two words of \(enumeration.name) have one name in Rust")
      source.line()
      source.block("open_enumeration!") { source in
        source.doc(documentation.of(enumeration.documentation.isEmpty ? enumeration.name : enumeration.documentation))
        source.block("pub enum \(enumeration.name)") { source in
          for (word, variant) in zip(enumeration.words, variants) { source.line("\(variant) = \"\(word)\",") }
        }
      }
    }
    return source
  }

  private var errors: SourceText {
    var source = SourceText(rust: ())
    source.head("")
    let errors = contract.standardErrors + contract.errors
    source.doc("The errors of the contract, by their code.")
    source.line("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]")
    source.line("#[non_exhaustive]")
    source.block("pub enum ErrorCode") { source in
      for error in errors {
        source.doc(documentation.of(error))
        source.line("\(error.name.capitalizedFirst),")
      }
      source.doc("An error that this version does not know.")
      source.line("Unrecognized(i64),")
    }
    source.line()
    source.block("impl ErrorCode") { source in
      source.doc("The name of the error, such as `reauthenticationRequired`.")
      source.block("pub fn name(self) -> &'static str") { source in
        source.block("match self") { source in
          for error in errors { source.line("ErrorCode::\(error.name.capitalizedFirst) => \"\(error.name)\",") }
          source.line("ErrorCode::Unrecognized(_) => \"error\",")
        }
      }
    }
    source.line()
    source.block("impl From<i64> for ErrorCode") { source in
      source.block("fn from(code: i64) -> Self") { source in
        source.block("match code") { source in
          for error in errors { source.line("\(error.code) => ErrorCode::\(error.name.capitalizedFirst),") }
          source.line("other => ErrorCode::Unrecognized(other),")
        }
      }
    }
    source.line()
    source.block("impl From<ErrorCode> for i64") { source in
      source.block("fn from(code: ErrorCode) -> Self") { source in
        source.block("match code") { source in
          for error in errors { source.line("ErrorCode::\(error.name.capitalizedFirst) => \(error.code),") }
          source.line("ErrorCode::Unrecognized(other) => other,")
        }
      }
    }
    return source
  }

  private func methods(isAsync: Bool) -> SourceText {
    let prefix = isAsync ? "Async" : ""
    var source = SourceText(rust: ())
    source.head("")
    source.line("use super::*;")
    source.line("use crate::{\(prefix)Client, Result};")
    source.line()
    source.doc("The methods of the contract, by namespace.")
    source.block("impl \(prefix)Client") { source in
      for namespace in contract.namespaces {
        let type = "\(prefix)\(namespace.name.capitalizedFirst)Methods"
        source.doc("The methods `\(namespace.name).*`.")
        source.block("pub fn \(namespace.name.rustName)(&self) -> \(type)<'_>") { $0.line("\(type)(self)") }
      }
    }
    for namespace in contract.namespaces {
      let type = "\(prefix)\(namespace.name.capitalizedFirst)Methods"
      source.line()
      source.doc("The methods `\(namespace.name).*` of the contract\(isAsync ? ", for async programs" : "").")
      source.line("#[derive(Clone, Copy, Debug)]")
      source.line("pub struct \(type)<'a>(&'a \(prefix)Client);")
      source.line()
      source.block("impl \(type)<'_>") { source in
        for (index, operation) in namespace.operations.enumerated() {
          if index > 0 { source.line() }
          let method = operation.method
          source.doc(documentation.of(operation), commonErrors: documentation.commonErrors)
          let params = operation.params.map { ", params: impl Into<\($0.name)>" } ?? ""
          let head = "pub \(isAsync ? "async " : "")fn \(method.verb.rustName)(self\(params))"
          source.block("\(head) -> Result<\(operation.resultName)>") { source in
            let argument = operation.params == nil ? "None::<&Empty>" : "Some(&params.into())"
            source.line("self.0.invoke(\"\(method.name)\", \(argument))\(isAsync ? ".await" : "")")
          }
        }
      }
    }
    return source
  }

  /// The driver's table: the generated method of each name, with params from JSON.
  private var table: SourceText {
    var source = SourceText(rust: ())
    source.head("")
    source.line("use lanyard::*;")
    source.line()
    source.line("use crate::outcome::{ended, params, Typed};")
    for isAsync in [false, true] {
      let (prefix, wait) = isAsync ? ("Async", ".await") : ("", "")
      source.line()
      source.line("#[rustfmt::skip]")
      let name = isAsync ? "async fn call_async" : "fn call"
      source.block("pub \(name)(client: &\(prefix)Client, method: &str, text: &str) -> Result<Typed>") { source in
        source.block("match method") { source in
          for namespace in contract.namespaces {
            for operation in namespace.operations {
              let argument = operation.params.map { "params::<\($0.name)>(text)" } ?? ""
              let call = "\(namespace.name.rustName)().\(operation.method.verb.rustName)(\(argument))"
              source.line("\"\(operation.method.name)\" => ended(client.\(call)\(wait)),")
            }
          }
          source.line("other => panic!(\"no method {other}\"),")
        }
      }
    }
    return source
  }
}
