package import AgentModel
internal import AgentPorts
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension ClientRegistration {
  /// A whole answer to a registration.
  package struct Answer: Sendable {
    package var clientID: String
    package var clientSecret: Secret?
    package var method: ClientAuthMethod?
    package var registration: ClientRegistration

    private static let longestClientID = 512

    /// Why no client of this answer can sign in.
    package enum Problem: Error, Sendable {
      /// No client id, or a way of authentication that this agent has nothing for.
      case unusable
      /// It lists other redirect addresses than the one that was asked for.
      case otherRedirects
    }

    /// Reads what proves nothing leniently. The redirect address has to be there where the answer lists any: the server
    /// sends codes to those (RFC 7591 §3.2.1).
    ///
    /// - Parameter redirectURI: the one that was asked for.
    package init(body: Secret, redirectURI: String) throws(Problem) {
      let read = ProviderJSON.read(body) { node -> Result<Answer, Problem>? in
        guard let clientID = node["client_id"]?.idText, (1...Self.longestClientID).contains(clientID.utf8.count),
          !MendedText.isDoubtful(clientID), node["client_secret"]?.isDoubtful != true
        else { return nil }
        if let listed = node["redirect_uris"], listed.kind != .null, !listed.names(redirectURI) {
          return .failure(.otherRedirects)
        }
        let secret = (node["client_secret"]?.secret ?? node["client_secret"]?.idText.map { Secret(text: $0) })
          .flatMap { $0.count > 0 ? $0 : nil }
        let word = node["token_endpoint_auth_method"]?.string?.lowercased() ?? ""
        guard !Self.methodsWithAKey.contains(word) else { return nil }
        // §2 lets a server put another method in place of what was asked. Without a secret the client is a public one.
        let method = secret == nil ? .publicClient : ClientAuthMethod(rawValue: word)
        let place = node["registration_client_uri"]?.string.flatMap { text in
          HTTPURL(text).flatMap { $0.scheme == .https || $0.isLoopback ? text : nil }
        }
        return .success(
          Answer(
            clientID: clientID, clientSecret: secret, method: method,
            registration: ClientRegistration(
              managementURL: place, accessToken: node["registration_access_token"]?.secret)))
      }
      guard let read else { throw .unusable }
      self = try read.get()
    }

    /// Ways to authenticate by a key or a certificate, which the registration did not offer.
    private static let methodsWithAKey: Set = [
      "private_key_jwt", "client_secret_jwt", "tls_client_auth", "self_signed_tls_client_auth",
      "attest_jwt_client_auth",
    ]

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

extension JSONNode {
  /// True if the list has this address, whatever the port of a loopback address is, which servers pass over (RFC 8252
  /// §7.3).
  fileprivate func names(_ redirectURI: String) -> Bool {
    let wanted = HTTPURL(redirectURI)
    return (strings ?? [string].compactMap { $0 }).contains { text in
      if equalCodePoints(text, redirectURI) { return true }
      guard let wanted, let listed = HTTPURL(text) else { return false }
      return listed.scheme == wanted.scheme && listed.host == wanted.host && listed.path == wanted.path
        && listed.query == wanted.query && (listed.port == wanted.port || listed.port == listed.scheme.defaultPort)
    }
  }
}
