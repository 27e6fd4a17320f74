import CommandSupport
import JSONRPC

/// An account as the agent tells of it.
struct AccountInfo {
  let id: String
  let alias: String?
  let displayName: String?
  let email: String?
  let subject: String
  let provider: String
  let tenant: String?
  let state: String
  let isActive: Bool
  let lastOnline: Moment?
  /// What keeps its data sealed while it is signed out.
  let dataProtection: String?
  /// As it came, for `--json`.
  let json: String

  init(_ node: JSONNode) {
    id = (node["id"] ?? node["account"])?.string ?? ""
    alias = node["alias"]?.string
    displayName = node["displayName"]?.string
    email = node["email"]?.string
    subject = node["subject"]?.string ?? ""
    provider = node["provider"]?.string ?? ""
    tenant = node["tenant"]?.string
    state = node["state"]?.string ?? ""
    isActive = node["active"]?.bool ?? false
    lastOnline = node["lastOnlineAuthAt"]?.string.flatMap { Moment($0) }
    dataProtection = node["dataProtection"]?.string
    json = node.text
  }

  /// The shortest name by which it can be called.
  var label: String { alias ?? id }

  /// Whom it is: a name and an address, as far as they are known.
  var person: String {
    switch (displayName, email) {
    case (let name?, let email?): "\(name) <\(email)>"
    case (let known?, nil), (nil, let known?): known
    case (nil, nil): subject
    }
  }

  /// What a soft sign-out leaves the data under.
  var dataWords: String? {
    switch (dataProtection, state) {
    case ("pin"?, "signedOut"): "sealed until the same person signs in again and says the PIN"
    case ("vault"?, "signedOut"): "sealed until the same person signs in again"
    case ("pin"?, _): "under the PIN when signed out"
    case ("vault"?, _): "under the vault alone when signed out: no PIN is set"
    default: nil
    }
  }

  /// All accounts, in the agent's order.
  static func all(_ agent: consuming AgentConnection) throws(CommandFailure) -> [AccountInfo] {
    try all(over: &agent)
  }

  static func all(over agent: inout AgentConnection) throws(CommandFailure) -> [AccountInfo] {
    try agent.call("account.list") { result in
      result["accounts"].map { $0.elements.map { AccountInfo($0) } } ?? []
    }
  }

  static func named(_ selector: String, over agent: inout AgentConnection) throws(CommandFailure) -> AccountInfo {
    try agent.call("account.get", params: { $0.member("account", selector) }, result: { AccountInfo($0) })
  }
}
