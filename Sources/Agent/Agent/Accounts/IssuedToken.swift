package import AgentCore
package import AgentModel
package import AgentOAuth
internal import Secrets

/// An access token in memory.
@dynamicMemberLookup
package struct IssuedToken: Sendable {
  package var issued: AccessToken
  package var facts: TokenMachine.TokenFacts
  /// The key that it is bound to; nil for a bearer token.
  package var deviceKey: DeviceKey?

  package subscript<Value>(dynamicMember path: KeyPath<AccessToken, Value>) -> Value { issued[keyPath: path] }
  /// The resource that the token was asked for, as far as the provider confirmed it.
  package var resource: String? { issued.confirmedResource }

  package var credential: AccessCredential { AccessCredential(issued.secret, boundTo: deviceKey) }
}

/// What a request needs of an access token.
struct RequestToken: Sendable {
  let credential: AccessCredential
  let fingerprint: String

  init(_ token: IssuedToken) { (credential, fingerprint) = (token.credential, token.facts.fingerprint) }
}

/// The answer to `token.get`.
package struct TokenAnswer: Sendable {
  package var token: IssuedToken
  package var account: AccountID
  package var issuer: String
  package var source: TokenMachine.Source
  package var expiresAt: Timestamp
  package var expiresInSeconds: Int64
}

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

/// Identifies a token without revealing it: a client sends it back to `token.reject`, and the journal keeps it.
enum Fingerprint {
  /// 96 bits of SHA-256: the token can't be found from them, and two tokens of one account never share them.
  static func of(_ secret: Secret) -> String {
    secret.withBytes { Base64URL.encode(sha256($0).prefix(12)) }
  }
}
