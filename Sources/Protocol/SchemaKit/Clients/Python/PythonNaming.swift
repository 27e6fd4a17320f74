/// The contract's names in Python.
struct PythonNaming: ClientNaming {
  func member(_ name: String) -> String { name.pythonName }
  func method(_ method: Method) -> String { "\(method.namespace.snakeCased).\(method.verb.pythonName)" }
  func error(_ error: ErrorKind) -> String { error.name.capitalizedFirst }
  func literal(_ value: JSONValue) -> String { ["true": "True", "false": "False"][value.compact] ?? value.compact }
}

extension String {
  /// The name in snake case; a Python keyword gets an underscore.
  var pythonName: String {
    let keywords: Set = [
      "and", "as", "class", "def", "del", "from", "global", "if", "import", "in", "is", "lambda", "not", "or", "pass",
      "raise", "return", "try", "while", "with", "yield",
    ]
    return keywords.contains(self) ? self + "_" : snakeCased
  }
}
