/// The contract's names in Rust.
struct RustNaming: ClientNaming {
  func member(_ name: String) -> String { name.rustName }
  func method(_ method: Method) -> String { "\(method.namespace.rustName)().\(method.verb.rustName)" }
  func error(_ error: ErrorKind) -> String { "ErrorCode::\(error.name.capitalizedFirst)" }
  func literal(_ value: JSONValue) -> String { value.compact }
}

extension String {
  /// The name in snake case; a Rust keyword gets an underscore.
  var rustName: String {
    let keywords: Set = [
      "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn",
      "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "static",
      "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while", "yield",
    ]
    return keywords.contains(self) ? self + "_" : snakeCased
  }

  /// `AccountAdded` for the word `account.added`, `ClientSecretBasic` for `client_secret_basic`, `Get` for `GET`.
  var rustVariant: String {
    let word = contains(where: \.isLowercase) ? self : lowercased()
    return word.split { !$0.isLetter && !$0.isNumber }.map { String($0).capitalizedFirst }.joined()
  }
}
