import CommandSupport
import JSONRPC

/// A provider as the agent tells of it.
struct ProviderInfo {
  let name: String
  let issuer: String
  let clientID: String
  /// The agent registered itself.
  let isRegistered: Bool
  let scopes: [String]
  /// The policy that it names.
  let policy: String?

  init(_ node: JSONNode) {
    name = node["name"]?.string ?? ""
    issuer = node["issuer"]?.string ?? ""
    clientID = node["clientId"]?.string ?? ""
    isRegistered = node["clientRegistered"]?.bool ?? false
    scopes = node["scopes"].map { $0.elements.compactMap(\.string) } ?? []
    policy = node["policy"]?.string
  }

  static func all(_ agent: consuming AgentConnection) throws(CommandFailure) -> [ProviderInfo] {
    try all(over: &agent)
  }

  static func all(over agent: inout AgentConnection) throws(CommandFailure) -> [ProviderInfo] {
    try agent.call("provider.list") { result in
      result["providers"].map { $0.elements.map { ProviderInfo($0) } } ?? []
    }
  }
}
