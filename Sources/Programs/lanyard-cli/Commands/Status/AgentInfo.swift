import JSONRPC

/// The answer of `agent.status`.
struct AgentInfo {
  let isLocked: Bool
  let isInitialized: Bool
  let protection: String
  let confinement: String
  let connectivity: String
  let accounts: Int
  let byState: [(state: String, count: Int)]
  let pendingRevocations: Int
  let pendingOperations: Int
  let startedAt: Moment?
  let version: String
  /// What the administrator set; nil if nothing.
  let administrator: Administrator?

  struct Administrator {
    var file: String?
    var enforced: [String]
    var overruled: [String]
    var problems: [String]

    init(_ node: JSONNode) {
      func texts(_ name: StaticString) -> [String] { node[name].map { $0.elements.compactMap(\.string) } ?? [] }
      file = node["file"]?.string
      (enforced, overruled, problems) = (texts("enforced"), texts("overruled"), texts("problems"))
    }
  }

  /// Nil without one.
  let policySource: PolicySourceInfo?
  /// The agent's JSON, for `--json`.
  let json: String

  init(_ node: JSONNode) {
    isLocked = node["locked"]?.bool ?? false
    isInitialized = node["initialized"]?.bool ?? true
    protection = node["protection"]?.string ?? ""
    confinement = node["confinement"]?.string ?? ""
    connectivity = node["connectivity"]?.string ?? ""
    accounts = Int(node["accounts"]?["total"]?.integer ?? 0)
    byState =
      node["accounts"]?["byState"].map { states in
        states.members.compactMap { key, value in
          value.integer.flatMap { $0 > 0 ? (state: key.string ?? "", count: Int($0)) : nil }
        }
      } ?? []
    pendingRevocations = Int(node["pendingRevocations"]?.integer ?? 0)
    pendingOperations = Int(node["pendingOperations"]?.integer ?? 0)
    startedAt = node["startedAt"]?.string.flatMap { Moment($0) }
    version = node["version"]?.string ?? ""
    administrator = node["administrator"].map { Administrator($0) }
    policySource = node["policySource"].map { PolicySourceInfo($0) }
    json = node.text
  }

  /// The accounts that can be made the active one.
  var signedIn: Int { byState.reduce(0) { $0 + ($1.state == "signedOut" ? 0 : $1.count) } }

  /// What of the agent's confinement is missing, for a person; nil if nothing is.
  var confinementWords: String? {
    switch confinement {
    case "none": "none: this kernel restricts neither the agent's files nor its system calls"
    case "seccomp": "system calls only: this kernel does not restrict the agent's files"
    default: nil
    }
  }

  /// The protection of the store, for a person.
  var protectionWords: String {
    switch protection {
    case "keyFile": "protected by a key file that all your programs can read"
    case "passphrase": "protected by your passphrase"
    case "secretService": "protected by your desktop's keyring"
    case "systemdCredential": "protected by a systemd credential"
    default: "protected by \(protection)"
    }
  }
}
