package import AgentModel
internal import AgentProtocol
package import AgentStore

/// The members of `provider.add` and `provider.update` by the provider's kind.
extension ProviderChanges {
  /// Throws for the first member that a provider of this kind does not have.
  package func requireMembers(of kind: AccountKind) throws(AgentFailure) {
    let given =
      switch kind {
      case .openid: ofSecrets
      case .secret: ofClients + ofPersons
      case .client: ofSecrets + ofPersons
      }
    guard let (name, _) = given.first(where: \.isGiven) else { return }
    throw .invalidParameter("/" + name, expected: "nothing for a provider of the kind \(kind.rawValue)")
  }

  private var ofSecrets: [(name: String, isGiven: Bool)] {
    [
      ("placement", placement != nil), ("whoami", whoami != nil), ("revoke", revoke != nil),
      ("environment", environment != nil),
    ]
  }

  /// What a client of OAuth has, also one without a person.
  private var ofClients: [(name: String, isGiven: Bool)] {
    [
      ("issuer", issuer != nil), ("clientId", clientId != nil), ("clientSecret", clientSecret != nil),
      ("clientKey", clientKey != nil), ("tokenEndpointAuthMethod", tokenEndpointAuthMethod != nil),
      ("scopes", scopes != nil), ("resources", resources != nil),
      ("authorizationParameters", authorizationParameters != nil), ("endpoints", endpoints != nil),
      ("dpop", dpop != nil), ("errorCodes", errorCodes != nil), ("authorization", authorization != nil),
      ("persistAccessTokens", persistAccessTokens != nil), ("allowedFields", allowedFields != nil),
    ]
  }

  /// What goes with the sign-in of a person, and with a refresh token.
  private var ofPersons: [(name: String, isGiven: Bool)] {
    [
      ("redirect", redirect != nil), ("refresh", refresh != nil), ("narrowing", narrowing != nil),
      ("requirePkce", requirePkce != nil), ("identity", identity != nil), ("revocationScope", revocationScope != nil),
      ("postLogoutRedirectUri", postLogoutRedirectUri != nil), ("tenant/claim", tenant?.claim != nil),
      ("authorization/tenantClaim", authorization?.tenantClaim != nil),
      ("authorization/entitlementsUrl", authorization?.entitlementsUrl != nil),
    ]
  }
}
