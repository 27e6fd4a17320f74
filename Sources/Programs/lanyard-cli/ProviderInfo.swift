import CommandSupport
import JSONRPC

/// A provider, from the agent's JSON.
struct ProviderInfo {
  let name: String
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

  init(_ node: JSONNode) {
    name = node["name"]?.string ?? ""
    issuer = node["issuer"]?.string ?? ""
    clientID = node["clientId"]?.string ?? ""
    isRegistered = node["clientRegistered"]?.bool ?? false
    scopes = node["scopes"].map { $0.elements.compactMap(\.string) } ?? []
    policy = node["policy"]?.string
    source = node["source"]?.string
    ignoredEndpoints = node["ignoredEndpoints"].map { $0.elements.compactMap(\.string) } ?? []
  }

  static func all(_ agent: consuming AgentConnection) throws(CommandFailure) -> [ProviderInfo] {
    try all(via: &agent)
  }

  static func all(via agent: inout AgentConnection) throws(CommandFailure) -> [ProviderInfo] {
    try agent.call("provider.list") { result in
      result["providers"].map { $0.elements.map { ProviderInfo($0) } } ?? []
    }
  }
}
