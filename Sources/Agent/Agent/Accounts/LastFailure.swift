internal import AgentCore
package import AgentModel

/// The last exchange of an account that failed, as `session.get` tells it.
package struct LastFailure: Hashable, Sendable {
  package var kind: FailureKind
  /// By the wall clock.
  package var at: Timestamp
  /// One word for programs; nil where the kind says all.
  package var reason: String?
}
