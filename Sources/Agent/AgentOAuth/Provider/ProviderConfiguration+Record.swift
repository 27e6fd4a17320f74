internal import AgentCore
internal import AgentModel
internal import JSONRPC
internal import SecretJSON

/// Members of a provider's record that most records do not have.
extension ProviderConfiguration {
  private static var member: StaticString { "authorizationParameters" }

  func writeAuthorizationParameters(to writer: inout JSONWriter) {
    guard !authorizationParameters.isEmpty else { return }
    writer.key(Self.member)
    writer.beginObject()
    for (name, value) in authorizationParameters.sorted(by: { $0.key < $1.key }) {
      writer.key(name)
      writer.string(value)
    }
    writer.endObject()
  }

  mutating func readAuthorizationParameters(_ record: JSONNode) {
    for (name, value) in record.members(of: Self.member) {
      guard let name = name.string, let value = value.string else { continue }
      authorizationParameters[name] = value
    }
  }

  /// The kind, and what a provider of this kind alone has.
  func writeKind(to writer: inout JSONWriter) {
    if kind != .openid { writer.member("kind", kind.rawValue) }
    if let secret {
      writer.key("secret")
      writer.beginObject()
      secret.write(to: &writer)
      writer.endObject()
    }
    machine?.write(to: &writer, as: "machine")
  }

  mutating func readKind(_ record: JSONNode) {
    kind = record["kind"]?.string.flatMap { AccountKind(rawValue: $0) } ?? .openid
    secret = record["secret"].flatMap { SecretSettings($0) }
    machine = record["machine"].flatMap { MachineGrant($0) }
  }

  func writeExactness(to writer: inout JSONWriter) {
    if requiresPKCE {
      writer.key("requirePkce")
      writer.bool(true)
    }
    if identity != .person { writer.member("identity", identity.rawValue) }
  }

  mutating func readExactness(_ record: JSONNode) {
    requiresPKCE = record["requirePkce"]?.bool ?? false
    identity = record["identity"]?.string.flatMap { IdentitySource(rawValue: $0) } ?? .person
  }
}
