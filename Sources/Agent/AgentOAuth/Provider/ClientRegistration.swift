package import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// The provider's answer to the agent's own registration (RFC 7591 §3.2.1).
package struct ClientRegistration: Sendable {
  /// The address and the token that manage the registration (RFC 7592); nil where the server offers no management.
  var managementURL: String?
  package var accessToken: Secret?
}

extension ClientRegistration {
  /// A whole answer to a registration.
  package struct Answer: Sendable {
    package var clientID: String
    package var clientSecret: Secret?
    package var method: ClientAuthMethod?
    package var registration: ClientRegistration

    private static let longestClientID = 512

    /// Nil if there is no client in it that we could be.
    package init?(body: Secret) {
      let read = SecretJSON.read(body, duplicateKeys: .allowed) { node -> Answer? in
        guard let clientID = node["client_id"]?.string, (1...Self.longestClientID).contains(clientID.utf8.count) else {
          return nil
        }
        let secret = node["client_secret"]?.secret.flatMap { $0.count > 0 ? $0 : nil }
        // §2 lets a server put something else in place of what was asked.
        var method: ClientAuthMethod?
        if let told = node["token_endpoint_auth_method"]?.string {
          method = ClientAuthMethod(rawValue: told)
          guard method == .publicClient || secret != nil && method != .privateKeyJWT && method != nil else {
            return nil
          }
        }
        let place = node["registration_client_uri"]?.string.flatMap { text in
          HTTPURL(text).flatMap { $0.scheme == .https || $0.isLoopback ? text : nil }
        }
        return Answer(
          clientID: clientID, clientSecret: secret, method: method,
          registration: ClientRegistration(managementURL: place, accessToken: node["registration_access_token"]?.secret)
        )
      }
      guard let read else { return nil }
      self = read
    }

    private init(
      clientID: String, clientSecret: Secret?, method: ClientAuthMethod?, registration: ClientRegistration
    ) {
      self.clientID = clientID
      self.clientSecret = clientSecret
      self.method = method
      self.registration = registration
    }
  }
}
