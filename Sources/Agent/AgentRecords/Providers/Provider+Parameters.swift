package import AgentModel
package import AgentOAuth
package import AgentPorts
package import AgentStore

extension Provider {
  /// Takes the authentication method of `provider.add` and `provider.update`, or names the parameter that it lacks.
  package mutating func chooseAuthentication(
    _ chosen: ClientAuthMethod?, signer: any ClientKeySigner
  ) throws(AgentFailure) {
    do throws(ClientAuthenticationFailure) {
      try authenticate(by: chosen, signer: signer)
    } catch {
      switch error {
      case .keyUnusable:
        // The key may be good.
        if let library = signer.missingLibrary { throw .provider(.document(.offline(.noLibrary(library)))) }
        throw .invalidParameter(
          "/clientKey",
          expected: "a private key as PEM without a passphrase, or as a JWK: RSA of 2048 bits or more, P-256, P-384 or "
            + "Ed25519")
      case .secretMissing:
        throw .invalidParameter("/tokenEndpointAuthMethod", expected: "a clientSecret with this method")
      case .keyMissing:
        throw .invalidParameter("/tokenEndpointAuthMethod", expected: "a clientKey with this method")
      }
    }
  }
}
