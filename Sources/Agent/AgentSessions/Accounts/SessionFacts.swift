package import AgentCore
package import AgentModel
internal import AgentOAuth
package import AgentRecords

/// The answer to `session.get`. Instants are on the timeline of its provider.
package struct SessionFacts: Sendable {
  package var profile: AccountProfile
  package var time: ProviderTime
  package var state: AccountState
  /// When `state` began; nil if the agent no longer knows.
  package var since: Timestamp?
  package var remedies: [Remedy]
  package var freshness: TokenMachine.Freshness
  package var accessTokenExpiresAt: Timestamp?
  package var refreshTokenExpiresAt: Timestamp?
  package var lastOnlineAuthAt: Timestamp?
  /// The end of the longest offline window of its policy.
  package var offlineGraceUntil: Timestamp?
  package var scopes: ScopeSet
  /// Scopes that the sign-in granted and that an exchange took away.
  package var lostScopes: ScopeSet
  /// What the provider granted in detail; nil if it said nothing of it.
  package var details: AuthorizationDetails?
  package var roles: [String]
  package var phase: RefreshPhase
  package var attempts: Int
  package var nextAttemptAt: Timestamp?
  package var lastError: LastFailure?
  package var generation: UInt64
  /// The thumbprint of the key that the grant is bound to.
  package var deviceKeyID: String?
  package var tokenBinding: TokenBinding?
}
