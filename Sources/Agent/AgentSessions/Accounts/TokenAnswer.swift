package import AgentCore
package import AgentModel
internal import AgentOAuth
package import AgentRecords

/// The answer to `token.get`.
package struct TokenAnswer: Sendable {
  package var token: IssuedToken
  package var account: AccountID
  package var issuer: String
  package var source: TokenMachine.Source
  package var expiresAt: Timestamp
  package var expiresInSeconds: Int64
}
