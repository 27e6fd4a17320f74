package import AgentCore
package import AgentModel
package import AgentOAuth

/// Why a provider, or its configuration, is not usable. Nothing was changed.
package enum ProviderFailure: Sendable {
  case notFound
  /// The provider's record does not open; its accounts wait for it.
  case damaged(AccountID?)
  /// The administrator's file that describes the provider is gone.
  case fileGone(String)
  /// Accounts still belong to the provider.
  case inUse([AccountID])
  case document(DocumentFailure)
  /// The file of authorities that the configuration names can't be read, or has no certificate.
  case noAuthorities
  /// There is no client id, and the agent can't get one now.
  case clientIDMissing(RegistrationGap)
  case registration(RegistrationFailure)
  case noAuthorizationEndpoint
  /// `ignored`: what the provider's documents name instead of usable ones.
  case noSignInEndpoints(ignored: [ServerMetadata.IgnoredEndpoint])
  /// The provider requires pushed authorization requests (RFC 9126) and does not say where.
  case noPushEndpoint
  /// The endpoint for pushed authorization requests is not where the provider says.
  case pushEndpointGone
  /// The provider refused the pushed request; its error, where the standards have it, or `other`.
  case pushRefused(error: String)
  /// The provider's metadata does not list the type of what is asked for (RFC 9396); these it lists.
  case unsupportedDetails(types: [String])
  case redirectNotLoopback
  /// Nothing tells its answers from those of this other provider, which come back to the same path.
  case redirectShared(ProviderName, with: ProviderName, RedirectRemedy)
  /// The configuration requires PKCE, and the metadata does not list `S256` (RFC 7636).
  case pkceNotOffered
}

/// Why the agent can't register itself where a client id is missing.
package enum RegistrationGap: Sendable {
  /// Discovery failed, so no registration endpoint is known.
  case document(DocumentFailure)
  /// The provider offers no registration.
  case notOffered
}

extension Provider {
  /// Throws `.unsupportedDetails` if the provider lists types, and one of `details` is not among them. A provider that
  /// lists none decides by itself.
  package func requireSupport(of details: AuthorizationDetails?) throws(AgentFailure) {
    let types = metadata?.authorizationDetailsTypes ?? []
    guard let details, !types.isEmpty, details.firstUnsupported(by: types) != nil else { return }
    throw .provider(.unsupportedDetails(types: types))
  }
}

extension Provider {
  /// Throws `.pkceNotOffered` if the configuration requires PKCE and no metadata lists it. What is not known counts as
  /// not offered.
  package func requirePKCE() throws(AgentFailure) {
    if lacksRequiredPKCE { throw .provider(.pkceNotOffered) }
  }
}

extension AgentFailure {
  package static let providerNotFound = AgentFailure.provider(.notFound)
}
