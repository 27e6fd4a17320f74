package import AgentCore
package import AgentModel
internal import JSONRPC
internal import SecretJSON

/// The person of a secret, as `whoami` names them.
package struct SecretOwner: Sendable {
  package var subject: String
  package var displayName: String?
  package var email: String?
  /// Nil if `whoami` names none.
  package var roles: NameSet?
  /// When the request left.
  package var sentAt: BootInstant

  package init(subject: String, sentAt: BootInstant) { (self.subject, self.sentAt) = (subject, sentAt) }

  /// Reads an answer; nil if it names no person, or has a member twice: readers disagree on which of two counts.
  init?(_ answer: JSONNode, by whoami: SecretSettings.WhoAmI, sentAt: BootInstant) {
    guard !answer.hasDuplicateKeys, let subject = Identity.subject(named: answer[pointer: whoami.subject]?.writtenText)
    else { return nil }
    self.init(subject: subject, sentAt: sentAt)
    displayName = whoami.name.flatMap { answer[pointer: $0]?.string }.flatMap { Self.bounded($0, atMost: 256) }
    email = whoami.email.flatMap { answer[pointer: $0]?.string }.flatMap { Self.bounded($0, atMost: 320) }
    roles = whoami.roles.map { place in
      let node = answer[pointer: place]
      let names = node?.strings ?? node?.string.map { [$0] } ?? []
      return RightsUpdate.bounded(names, atMost: RightsUpdate.mostRoles)
    }
  }

  /// What it says of the person's rights: a secret has no scopes that the agent knows, and entitlements stay unknown.
  package func rights(source: AuthorizationSnapshot.Source) -> RightsUpdate {
    RightsUpdate(roles: roles ?? [], scopes: ScopeSet([]), source: source)
  }

  /// The bounds of the contract; a longer text is left out.
  private static func bounded(_ text: String, atMost most: Int) -> String? {
    !text.isEmpty && text.unicodeScalars.count <= most ? text : nil
  }
}
