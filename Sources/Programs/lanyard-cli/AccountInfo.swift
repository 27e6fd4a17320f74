import CommandSupport
import JSONRPC

/// An account, from the agent's JSON.
struct AccountInfo {
  let id: String
  let alias: String?
  let displayName: String?
  let email: String?
  let subject: String
  /// `openid`, `secret` or `client`.
  let kind: String
  /// What goes with a secret.
  let username: String?
  let provider: String
  let tenant: String?
  let state: String
  let isActive: Bool
  let lastOnline: Moment?
  /// When its secret ends, as the person told; nil: no end is known.
  let keyEndsAt: Moment?
  /// `vault` or `pin`: what protects its data while it is signed out.
  let dataProtection: String?
  /// `bound` or `downgraded`; nil for bearer tokens.
  let tokenBinding: String?
  /// The agent's JSON, for `--json`.
  let json: String

  init(_ node: JSONNode) {
    id = (node["id"] ?? node["account"])?.string ?? ""
    alias = node["alias"]?.string
    displayName = node["displayName"]?.string
    email = node["email"]?.string
    subject = node["subject"]?.string ?? ""
    kind = node["kind"]?.string ?? "openid"
    username = node["username"]?.string
    provider = node["provider"]?.string ?? ""
    tenant = node["tenant"]?.string
    state = node["state"]?.string ?? ""
    isActive = node["active"]?.bool ?? false
    lastOnline = node["lastOnlineAuthAt"]?.string.flatMap { Moment($0) }
    keyEndsAt = node["expiresAt"]?.string.flatMap { Moment($0) }
    dataProtection = node["dataProtection"]?.string
    tokenBinding = node["tokenBinding"]?.string
    json = node.text
  }

  /// The alias, else the id.
  var label: String { alias ?? id }

  /// An account's state for a person.
  static func words(ofState state: String) -> String {
    switch state {
    case "offlineStale": "offline"
    case "interactionRequired": "needs you"
    case "reauthenticationRequired": "sign in again"
    case "locked": "disabled"
    case "signedOut": "signed out"
    default: state
    }
  }

  /// The provider gives it no token before the person signs in.
  var needsSignIn: Bool { ["reauthenticationRequired", "interactionRequired"].contains(state) }

  /// A hard sign-out erased whose account it is.
  var isErased: Bool { state == "signedOut" && subject.hasPrefix("erased:") }

  /// It holds a secret, and its provider did not say whose.
  var isOfUnknownPerson: Bool { kind == "secret" && subject.hasPrefix("secret:") }

  /// It holds a key, and `lanyard rotate` gives it another one or the same again.
  var takesAnotherKey: Bool { kind == "secret" && state != "signedOut" }

  /// It is signed out, and nothing but the key that it had shows that the person is the same.
  var takesItsOwnKeyAlone: Bool { state == "signedOut" && isOfUnknownPerson }

  /// An installation of a GitHub App.
  var isInstallation: Bool { kind == "client" && subject.hasPrefix("installation:") }

  /// Name and e-mail address, as far as they are known; else the subject.
  var person: String {
    if isErased { return "erased" }
    return switch (displayName, email) {
    case (let name?, let email?): "\(name) <\(email)>"
    case (let known?, nil), (nil, let known?): known
    // The subject is a digest of the secret.
    case (nil, nil) where isOfUnknownPerson: username ?? "a key"
    case (nil, nil): subject
    }
  }

  /// The protection of its data after a soft sign-out.
  var dataWords: String? {
    switch (dataProtection, state) {
    case ("pin"?, "signedOut"): "sealed until the same person signs in again and enters the PIN"
    case ("vault"?, "signedOut") where takesItsOwnKeyAlone: "sealed until the same key is added again"
    case ("vault"?, "signedOut"): "sealed until the same person signs in again"
    case ("pin"?, _): "under the PIN when signed out"
    case ("vault"?, _): "under the vault alone when signed out: no PIN is set"
    default: nil
    }
  }

  /// All accounts, in the agent's order.
  static func all(_ agent: consuming AgentConnection) throws(CommandFailure) -> [AccountInfo] {
    try all(via: &agent)
  }

  static func all(via agent: inout AgentConnection) throws(CommandFailure) -> [AccountInfo] {
    try agent.call("account.list") { result in
      result["accounts"].map { $0.elements.map { AccountInfo($0) } } ?? []
    }
  }

  static func named(_ selector: String, via agent: inout AgentConnection) throws(CommandFailure) -> AccountInfo {
    try agent.call("account.get", params: { $0.member("account", selector) }, result: { AccountInfo($0) })
  }

  static func named(
    _ selection: AccountSelection, via agent: inout AgentConnection
  ) throws(CommandFailure) -> AccountInfo {
    try selection.asking(via: &agent) { (account, agent) throws(CommandFailure) in try named(account, via: &agent) }
  }

  /// Nil where the grant of this program does not let it ask.
  static func told(_ selector: String, via agent: inout AgentConnection) throws(CommandFailure) -> AccountInfo? {
    do throws(CommandFailure) {
      return try named(selector, via: &agent)
    } catch {
      guard error.name == "notPermitted" else { throw error }
      return nil
    }
  }
}
