internal import AgentModel

extension Provider {
  /// The parts that a revocation needs, to be kept with the token: endpoints, client authentication, pins and the way
  /// to the server. It outlives the provider, which may be removed or be another one by then.
  package var forRevocation: Provider {
    var part = self
    part.configuration.scopes = []
    part.configuration.resources = []
    part.configuration.errorCodes = [:]
    part.configuration.authorization = .init()
    part.configuration.allowedOrigins = []
    part.configuration.allowedFields = []
    part.configuration.policy = nil
    part.former = []
    part.own = []
    return part
  }

  /// A token or a secret of its accounts can be revoked.
  package var canRevoke: Bool {
    configuration.kind == .secret ? configuration.secret?.revoke != nil : revocationEndpoint != nil
  }

  /// Where its tokens are revoked; nil if that is nowhere, or if they are secrets.
  package var revocationEndpoint: String? {
    if let endpoint = endpoints.revocation { return endpoint }
    guard case .githubApp(let installation)? = configuration.machine else { return nil }
    return endpoints.token.flatMap { installation.revocationEndpoint(ofTokensOf: $0) }
  }

  /// The request that revokes is the provider's own, and none of RFC 7009: what is to be revoked authorizes it.
  package var revokesByOwnRequest: Bool {
    if case .githubApp? = configuration.machine { return true }
    return configuration.kind == .secret
  }

  /// Whether a token that `kept` was to revoke may be sent to this provider's revocation endpoint: the same client, and
  /// an endpoint at an origin that `kept` had already.
  package func mayRevoke(for kept: Provider) -> Bool {
    // A secret ends by the request that was configured when it was put away, unless another one is the same.
    if kept.configuration.kind == .secret || configuration.kind == .secret {
      return configuration.kind == kept.configuration.kind && isSameClient(as: kept)
        && configuration.secret?.revoke == kept.configuration.secret?.revoke
        && configuration.secret?.placement == kept.configuration.secret?.placement
    }
    guard kept.hasEndpoints, isSameClient(as: kept), isIssuer(of: kept.issuingClient),
      let place = revocationEndpoint.flatMap({ HTTPURL($0)?.origin })
    else { return false }
    let known = [kept.revocationEndpoint, kept.endpoints.token, kept.configuration.issuer]
    return known.contains { $0.flatMap { HTTPURL($0)?.origin } == place }
  }

  /// True if both are the same client at the same issuer: a token of one may be sent by the other.
  package func isSameClient(as other: Provider) -> Bool {
    issuingClient.isClient(other.configuration.clientID, of: other.configuration.issuer)
  }
}
