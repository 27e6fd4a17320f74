package import AgentCore
package import AgentModel
internal import AgentOAuth
package import AgentVault
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// The credentials of roles that an ID token was exchanged for (docs/desktop.md, AWS).
  package static let roleCredentials = DeclaredKind(46, under: .token, .untilSignOut)
}

/// The credentials of a role that an account keeps until near their end (docs/desktop.md, AWS).
package struct KeptRole: Sendable {
  package var accessKeyID: String
  package var secretAccessKey: Secret
  package var sessionToken: Secret
  /// On the timeline of the account's provider, which survives a wrong clock of this machine.
  package var expiresAt: Timestamp
  package var lifetime: Milliseconds

  package init(
    accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret, expiresAt: Timestamp, lifetime: Milliseconds
  ) {
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
    self.expiresAt = expiresAt
    self.lifetime = lifetime
  }
}

/// The credentials of an account's roles as they are sealed: one record under the account's token key, which goes with
/// its tokens.
package struct KeptRoles {
  package private(set) var all: [RoleSession: KeptRole] = [:]

  /// As many as an account has other derived tokens; the one that ends first goes first.
  static let most = 16

  init() {}

  init?(_ record: Secret) {
    let read = SecretJSON.read(record) { node -> [(RoleSession, KeptRole)]? in
      node["roles"]?.elements.compactMap { Self.entry($0) }
    }
    guard let read else { return nil }
    all = Dictionary(read) { first, _ in first }
  }

  mutating func keep(_ kept: KeptRole, for role: RoleSession, at now: Timestamp) {
    all = all.filter { $0.value.expiresAt > now }
    all[role] = kept
    while all.count > Self.most {
      guard let first = all.filter({ $0.key != role }).min(by: { $0.value.expiresAt < $1.value.expiresAt }) else {
        return
      }
      all[first.key] = nil
    }
  }

  var record: Secret {
    SecretJSON.write { writer in
      writer.key("roles")
      writer.beginArray()
      for (role, kept) in all.sorted(by: { $0.value.expiresAt < $1.value.expiresAt }) {
        writer.beginObject()
        writer.member("role", role.roleARN)
        writer.member("name", role.name)
        if let seconds = role.durationSeconds { writer.member("duration", Int64(seconds)) }
        writer.member("endpoint", role.endpoint.text)
        writer.member("key", kept.accessKeyID)
        writer.member("secret", kept.secretAccessKey)
        writer.member("session", kept.sessionToken)
        writer.member("expiresAt", kept.expiresAt.milliseconds)
        writer.member("lifetime", kept.lifetime.count)
        writer.endObject()
      }
      writer.endArray()
    }
  }

  private static func entry(_ node: JSONNode) -> (RoleSession, KeptRole)? {
    guard
      let role = try? RoleSession(
        roleARN: node["role"]?.string ?? "", name: node["name"]?.string,
        durationSeconds: node["duration"]?.integer.map(Int.init), endpoint: node["endpoint"]?.string),
      let key = node["key"]?.string, let secret = node["secret"]?.secret, let session = node["session"]?.secret,
      let expiresAt = node["expiresAt"]?.timestamp, let lifetime = node["lifetime"]?.integer
    else { return nil }
    return (
      role,
      KeptRole(
        accessKeyID: key, secretAccessKey: secret, sessionToken: session, expiresAt: expiresAt,
        lifetime: Milliseconds(lifetime))
    )
  }
}
