internal import AgentModel
internal import JSONRPC

/// A machine identity's grant in its provider's record: the members of `machine` in `provider.add`.
extension MachineGrant {
  func write(to writer: inout JSONWriter, as name: String) {
    writer.key(name)
    writer.beginObject()
    switch self {
    case .clientCredentials: writer.member("grant", Word.clientCredentials.rawValue)
    case .jwtBearer(let assertion):
      writer.member("grant", Word.jwtBearer.rawValue)
      writer.member("subject", assertion.subject)
      writer.member("audience", assertion.audience)
      writer.member("lifetimeSeconds", assertion.lifetimeSeconds)
    case .githubApp(let installation):
      writer.member("grant", Word.githubApp.rawValue)
      writer.member("appId", installation.appID)
      writer.member("installation", installation.number)
    case .tokenFile(let path):
      writer.member("grant", Word.tokenFile.rawValue)
      writer.member("path", path)
    }
    writer.endObject()
  }

  /// Nil for a grant that this agent does not know.
  init?(_ node: JSONNode) {
    switch node["grant"]?.string.flatMap({ Word(rawValue: $0) }) {
    case .clientCredentials?: self = .clientCredentials
    case .jwtBearer?:
      self = .jwtBearer(
        Assertion(
          subject: node["subject"]?.string, audience: node["audience"]?.string,
          lifetimeSeconds: node["lifetimeSeconds"]?.integer))
    case .githubApp?:
      guard let appID = node["appId"]?.string, let number = node["installation"]?.string else { return nil }
      self = .githubApp(Installation(appID: appID, number: number))
    case .tokenFile?:
      guard let path = node["path"]?.string else { return nil }
      self = .tokenFile(path: path)
    case nil: return nil
    }
  }

  /// The grant's names in the contract.
  private enum Word: String { case clientCredentials, jwtBearer, githubApp, tokenFile }
}
