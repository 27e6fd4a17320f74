internal import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentStore

/// The requests of callers for an ID token.
extension Account {
  /// Returns the ID token from memory, or after the one exchange that all callers share.
  package func idToken(minimumLifetime: Milliseconds) async throws(AgentFailure) -> IDTokenAnswer {
    try await IDTokenRequest(minimumLifetime: minimumLifetime).answer(from: self)
  }
}
