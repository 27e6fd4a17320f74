/// The contract's names in the Swift client.
struct SwiftClientNaming: ClientNaming {
  func member(_ name: String) -> String { name }
  func method(_ method: Method) -> String { "\(method.namespace).\(method.verb)" }
  func error(_ error: ErrorKind) -> String { error.name }
  func literal(_ value: JSONValue) -> String { value.compact }

  /// A record's name. `Operation` is a class of Foundation, and an event is called by its short name.
  static func record(_ name: String) -> String {
    ["Operation": "AgentOperation", "EventNotification": "Event"][name] ?? name
  }

  static func type(_ type: ClientType) -> String {
    switch type {
    case .record(let name): record(name)
    case .enumeration(let name): name
    case .list(let element): "[\(self.type(element))]"
    case .map(let value): "[String: \(self.type(value))]"
    case .text: "String"
    case .secret: "Secret"
    case .instant: "Date"
    case .integer: "Int"
    case .boolean: "Bool"
    case .anything: "JSON"
    }
  }

  /// `clientSecretBasic` for `client_secret_basic`, `accountAdded` for `account.added`.
  static func word(_ word: String) -> String {
    let parts = word.split { $0 == "_" || $0 == "." || $0 == "-" }
    return (String(parts[0]) + parts.dropFirst().map { String($0).capitalizedFirst }.joined()).swiftIdentifier
  }
}
