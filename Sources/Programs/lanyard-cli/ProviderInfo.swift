import AgentCore
import AgentModel
import CommandSupport
import JSONRPC

/// A provider, from the agent's JSON.
struct ProviderInfo {
  let name: String
  /// `openid`, `secret` or `client`.
  let kind: String
  let issuer: String
  let clientID: String
  /// True if the agent registered the client (RFC 7591).
  let isRegistered: Bool
  let scopes: [String]
  /// The name of its policy.
  let policy: String?
  /// The administrator's file that describes it; nil for the person's own.
  let source: String?
  /// The endpoints of its documents that the agent does not use.
  let ignoredEndpoints: [String]
  let preset: String?
  /// Where its secrets stand in a request; nil for any other kind.
  let placement: SecretPlacement?
  /// The provider is asked whose a secret is.
  let hasWhoami: Bool
  /// The variables from which programs read its secrets.
  let environment: [String]
  /// The host that a sign-in without a page asks: whose a secret is, or for the token of a machine.
  let server: String?

  init(_ node: JSONNode) {
    name = node["name"]?.string ?? ""
    kind = node["kind"]?.string ?? "openid"
    issuer = node["issuer"]?.string ?? ""
    clientID = node["clientId"]?.string ?? ""
    isRegistered = node["clientRegistered"]?.bool ?? false
    scopes = node["scopes"].map { $0.elements.compactMap(\.string) } ?? []
    policy = node["policy"]?.string
    source = node["source"]?.string
    ignoredEndpoints = node["ignoredEndpoints"].map { $0.elements.compactMap(\.string) } ?? []
    preset = node["preset"]?.string
    placement = node["placement"].flatMap { SecretPlacement($0) }
    hasWhoami = node["whoami"] != nil
    environment = node["environment"].map { $0.elements.compactMap(\.string) } ?? []
    let asked = node["whoami"]?["url"]?.string ?? node["endpoints"]?["token"]?.string ?? issuer
    server = HTTPURL(asked)?.host
  }

  /// What the catalogue says of it.
  var catalogue: CatalogueEntry? { preset.flatMap(CatalogueEntry.named) }

  /// The user name that goes with its secrets where an account has none.
  var username: String? {
    if case .basic(let name?)? = placement { return name }
    return catalogue?.username
  }

  static func all(_ agent: consuming AgentConnection) throws(CommandFailure) -> [ProviderInfo] {
    try all(via: &agent)
  }

  static func all(via agent: inout AgentConnection) throws(CommandFailure) -> [ProviderInfo] {
    try agent.call("provider.list") { result in
      result["providers"].map { $0.elements.map { ProviderInfo($0) } } ?? []
    }
  }

  /// Nil if there is none of this name.
  static func named(_ name: String, via agent: inout AgentConnection) throws(CommandFailure) -> ProviderInfo? {
    try all(via: &agent).first { $0.name == name }
  }
}
