package import Secrets

/// The provider's answer to the agent's own registration (RFC 7591 §3.2.1).
package struct ClientRegistration: Sendable {
  /// The address and the token that manage the registration (RFC 7592); nil where the server offers no management.
  var managementURL: String?
  package var accessToken: Secret?
}
