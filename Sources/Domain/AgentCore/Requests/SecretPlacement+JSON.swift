public import AgentModel
public import JSONRPC

/// A placement as the contract writes it, and as a provider's record has it.
extension SecretPlacement {
  /// - Parameter username: what goes with the secret, for tools that ask for a user name beside it wherever it stands.
  public func write(to writer: inout JSONWriter, as name: StaticString, username: String? = nil) {
    writer.key(name)
    writer.beginObject()
    switch self {
    case .header(let name, let template):
      writer.member("in", "header")
      writer.member("name", name)
      writer.member("format", template.text)
    case .basic: writer.member("in", "basic")
    case .query(let name):
      writer.member("in", "query")
      writer.member("name", name)
    case .path(let template):
      writer.member("in", "path")
      writer.member("format", template.text)
    }
    writer.member("username", self.username ?? username)
    writer.endObject()
  }

  /// Nil for what is none.
  public init?(_ node: JSONNode) {
    self.init(
      in: node["in"]?.string, name: node["name"]?.string, format: node["format"]?.string,
      username: node["username"]?.string)
  }
}
