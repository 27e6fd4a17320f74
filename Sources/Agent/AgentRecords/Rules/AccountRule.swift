package import AgentCore
package import AgentModel
package import AgentVault
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// Which account answers for a URL (docs/desktop.md, Which account).
  package static let rule = DeclaredKind(45, under: .vault, [.counted, .answersForItself])
}

/// A rule of the person: which account answers for the URLs of a pattern (docs/desktop.md, Which account).
package struct AccountRule: Sendable {
  package let id: [UInt8]
  package let pattern: ResourcePattern
  package let account: AccountID
  package let createdAt: Timestamp

  static let idBytes = 10

  /// The rule's id on the wire.
  package var name: String { Self.name(of: id) }

  static func name(of id: [UInt8]) -> String { "rule_" + Base32.encode(id) }

  var decided: ResourceAccount.Rule { .init(name: name, pattern: pattern, account: account) }

  package var record: Secret {
    SecretJSON.write { writer in
      writer.member("pattern", pattern.text)
      writer.member("account", account.text)
      writer.member("createdAt", createdAt.milliseconds)
    }
  }

  init(id: [UInt8], pattern: ResourcePattern, account: AccountID, createdAt: Timestamp) {
    self.id = id
    self.pattern = pattern
    self.account = account
    self.createdAt = createdAt
  }

  package init?(_ plain: Secret, id: [UInt8]) {
    let read = SecretJSON.read(plain) { node -> (String, AccountID, Timestamp)? in
      guard let pattern = node["pattern"]?.string, let account = node["account"]?.string.flatMap({ AccountID($0) }),
        let createdAt = node["createdAt"]?.integer
      else { return nil }
      return (pattern, account, Timestamp(milliseconds: createdAt))
    }
    guard let (text, account, createdAt) = read, let pattern = try? ResourcePattern(text) else { return nil }
    self.init(id: id, pattern: pattern, account: account, createdAt: createdAt)
  }
}
