/// The contract's names in TypeScript: those of the wire, and a class for each error.
struct TypeScriptNaming: ClientNaming {
  func member(_ name: String) -> String { name }
  func method(_ method: Method) -> String { method.name }
  func literal(_ value: JSONValue) -> String { value.compact }

  /// `ReauthenticationRequiredError`; `InternalError` ends so already.
  func error(_ error: ErrorKind) -> String {
    let name = error.name.capitalizedFirst
    return name.hasSuffix("Error") ? name : name + "Error"
  }
}
