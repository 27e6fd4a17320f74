public import AgentModel
public import JSONRPC

/// The settings of a provider's secrets, as the contract, the catalogue and a provider's record have them.
extension SecretSettings {
  /// Writes the members.
  public func write(to writer: inout JSONWriter) {
    placement.write(to: &writer, as: "placement")
    if let whoami {
      writer.key("whoami")
      writer.beginObject()
      writer.member("url", whoami.url)
      writer.member("subject", whoami.subject)
      writer.member("name", whoami.name)
      writer.member("email", whoami.email)
      writer.member("roles", whoami.roles)
      writer.endObject()
    }
    if let revoke {
      writer.key("revoke")
      writer.beginObject()
      writer.member("method", revoke.method)
      writer.member("url", revoke.url)
      writer.member("body", revoke.body)
      writer.endObject()
    }
    writer.member("environment", environment)
  }

  /// Nil for a placement that is none.
  public init?(_ node: JSONNode) {
    self.init()
    if let place = node["placement"] {
      guard let placement = SecretPlacement(place) else { return nil }
      self.placement = placement
    }
    if let node = node["whoami"], let url = node["url"]?.string, let subject = node["subject"]?.string {
      whoami = WhoAmI(
        url: url, subject: subject, name: node["name"]?.string, email: node["email"]?.string,
        roles: node["roles"]?.string)
    }
    if let node = node["revoke"], let method = node["method"]?.string, let url = node["url"]?.string {
      revoke = Revocation(method: method, url: url, body: node["body"]?.string)
    }
    environment = node["environment"].map { $0.elements.compactMap(\.string) } ?? []
  }
}
