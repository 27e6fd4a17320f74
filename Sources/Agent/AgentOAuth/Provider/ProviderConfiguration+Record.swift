internal import AgentCore
internal import AgentModel
internal import JSONRPC
internal import SecretJSON

/// The further authorization parameters in a provider's record. Records of earlier versions have none.
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
}
