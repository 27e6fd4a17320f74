package import AgentCore

/// Why the provider's answer does not prove who signed in.
package enum IdentityFailure: Error, Sendable {
  /// The provider named no tenant, and the configuration expects one.
  case tenantMissing
  case idTokenMissing
  case idTokenInvalid(IDTokenFailure)
  case subjectMissing
  /// The provider has no endpoint that names the person.
  case noEndpoint
  /// Userinfo or introspection did not name the person.
  case notNamed(UnnamedPerson)
  /// The keys that verify ID tokens could not be read.
  case keysUnread(DocumentFailure)
  /// The provider names no key set that can be asked for; `found`: what its document has instead, for people
  /// (`ServerMetadata.IgnoredEndpoint`).
  case keySetUnnamed(found: String?)
  case accessTokenMissing

  /// The document that could not be had; nil if what was had does not prove the person.
  package var document: DocumentFailure? {
    switch self {
    case .notNamed(.document(let failure)), .notNamed(.userInfo(.keysUnread(let failure))), .keysUnread(let failure):
      failure
    default: nil
    }
  }
}

/// Why an answer does not name the person.
package enum UnnamedPerson: Sendable {
  /// The answer could not be had.
  case document(DocumentFailure)
  case userInfo(UserInfoFailure)
  /// It has no subject; its members, as `JSONNode.membersForPeople` tells them.
  case members(String)
  /// Introspection says that the token is not active, or is another client's, or it names no subject.
  case introspection
}
