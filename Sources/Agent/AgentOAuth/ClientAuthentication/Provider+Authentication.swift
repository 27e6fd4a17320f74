internal import AgentCore
package import AgentModel
package import AgentPorts
internal import Secrets

/// Chooses the client's authentication method.
extension Provider {
  /// The method that the person chose; else the best that the provider takes and the client has something for; else
  /// what every server must take (RFC 6749 §2.3.1).
  package var authenticationMethod: ClientAuthMethod {
    if let chosen = configuration.tokenEndpointAuthMethod { return chosen }
    let taken = tokenEndpointAuthMethods
    let possible: [ClientAuthMethod] =
      (clientKey == nil ? [] : [.privateKeyJWT])
      + (clientSecret == nil ? [] : [.clientSecretBasic, .clientSecretPost])
    return possible.first { taken.contains($0.rawValue) } ?? possible.first ?? .publicClient
  }

  /// The issuer, since a third party can name an endpoint; the token endpoint where the agent accepted no document as
  /// the issuer's, and where a provider takes nothing else (RFC 7523 §3).
  package func assertionAudience(at endpoint: String) -> String {
    switch preset?.assertionAudience {
    case .endpoint?: endpoint
    case .tokenEndpoint?: endpoints.token ?? endpoint
    case nil: metadata == nil ? endpoints.token ?? endpoint : configuration.issuer
    }
  }

  /// The provider's metadata lists how a client must authenticate to revoke, and this client's method is not in it:
  /// a revocation will be refused.
  package var refusesItsRevocations: Bool {
    guard endpoints.revocation != nil, let told = metadata?.revocationEndpointAuthMethods, !told.isEmpty else {
      return false
    }
    return !told.contains(authenticationMethod.rawValue)
  }

  /// Takes the choice, or says what is missing for it.
  package mutating func authenticate(
    by chosen: ClientAuthMethod?, signer: any ClientKeySigner
  ) throws(ClientAuthenticationFailure) {
    if let clientKey {
      guard let key = ClientKey(clientKey), let own = signer.algorithm(of: key.material),
        signer.sign(Secret(text: ""), by: key.material, algorithm: key.algorithm ?? own) != nil
      else {
        throw .keyUnusable
      }
    }
    configuration.tokenEndpointAuthMethod = chosen ?? configuration.tokenEndpointAuthMethod
    switch configuration.tokenEndpointAuthMethod {
    case .clientSecretBasic?, .clientSecretPost?:
      guard !hasStoredSecret else { return }
      throw .secretMissing
    case .privateKeyJWT?:
      guard !hasStoredKey else { return }
      throw .keyMissing
    case .publicClient?, nil: return
    }
  }
}
