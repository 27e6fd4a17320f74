package import AgentCore
package import AgentModel
internal import AgentOAuth
package import Secrets

/// A token that was exchanged for an access token of the account.
package struct DerivedToken: Sendable {
  package var secret: Secret
  package var tokenType: String
  /// The key that it is bound to; nil for a bearer token.
  var deviceKey: DeviceKey?
  package var issuedTokenType: String
  /// As the provider told; without a word those that were asked for (RFC 8693 §2.2.1).
  package var scopes: ScopeSet
  /// As the provider told; nil if it did not.
  package var details: AuthorizationDetails?
  /// The requested resource, if the token shows that it is for it.
  package var resource: String?
  package var generation: UInt64
  package var facts: DerivedTokenFacts

  /// For a token without `expires_in`. No caller can force a new one, so a wrong guess must not last.
  static let assumedLifetime = Milliseconds.seconds(300)
}

/// The answer to `token.exchange`.
package struct DerivedTokenAnswer: Sendable {
  package var token: DerivedToken
  package var account: AccountID
  package var issuer: String
  package var source: TokenMachine.Source
  package var expiresAt: Timestamp
  package var expiresInSeconds: Int64
}
