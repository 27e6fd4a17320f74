package import AgentModel
package import Secrets

/// The answer to `credential.aws`.
package struct RoleAnswer: Sendable {
  package var accessKeyID: String
  package var secretAccessKey: Secret
  package var sessionToken: Secret
  package var account: AccountID
  /// On the provider's timeline.
  package var expiresAt: Timestamp
  package var expiresInSeconds: Int64
}
