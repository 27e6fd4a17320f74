package import AgentModel
package import AgentPorts

extension Provider {
  /// Whether a sign-in asks for tokens that are bound to a key.
  package var bindsTokens: Bool {
    switch configuration.dpop {
    case .off: false
    case .auto: metadata?.dpopAlgorithms.contains(SignatureAlgorithm.es256.rawValue) == true
    case .required: true
    }
  }

  /// The key of a sign-in; nil for one that brings bearer tokens, and without a cryptographic library.
  package func newDeviceKey(by signer: any ClientKeySigner) -> DeviceKey? {
    bindsTokens ? DeviceKey(by: signer) : nil
  }

  /// Bearer tokens are not served.
  package var refusesBearerTokens: Bool { configuration.dpop == .required }

  /// True for an address at which no program has a request of its own: it is for the agent's client credentials, for
  /// refresh tokens and codes. Userinfo takes access tokens.
  package func isOwnEndpoint(_ url: HTTPURL) -> Bool {
    let own = [
      endpoints.authorization, endpoints.token, endpoints.revocation, endpoints.introspection,
      endpoints.deviceAuthorization, endpoints.registration, endpoints.pushedAuthorizationRequest,
    ]
    return own.contains { address in
      address.flatMap { HTTPURL($0) }.map { $0.origin == url.origin && $0.path == url.path } ?? false
    }
  }
}
