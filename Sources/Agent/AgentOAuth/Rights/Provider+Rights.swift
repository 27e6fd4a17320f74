package import AgentCore
package import AgentModel
internal import Secrets

/// Reads the person's rights in a provider's answers.
extension Provider {
  package var rightsRule: RightsRule {
    RightsRule(
      rolesClaim: configuration.authorization.rolesClaim, hasUserInfo: endpoints.userinfo != nil,
      hasEntitlementsURL: configuration.authorization.entitlementsURL != nil)
  }

  /// The rights in the answer to an exchange. An access token for one audience speaks of that audience alone.
  package func rights(
    in response: TokenResponse, for key: TokenKey, scopes: ScopeSet, source: AuthorizationSnapshot.Source
  ) -> RightsUpdate {
    let isStandard = key == .standard
    return rightsRule.rightsUpdate(
      idToken: response.idToken.flatMap(claims), accessToken: isStandard ? response.accessToken.flatMap(claims) : nil,
      scopes: isStandard ? scopes : nil, source: source)
  }

  private func claims(of token: Secret) -> RightsClaims? {
    token.withBytes { RightsClaims(token: $0, rolesClaim: configuration.authorization.rolesClaim) }
  }
}
