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
  case notNamed
  case accessTokenMissing
}
