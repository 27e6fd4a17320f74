internal import AgentCore
internal import AgentModel

/// The last exchange of an account that failed, as `session.get` tells it.
struct LastFailure: Hashable, Sendable {
  var kind: FailureKind
  /// By the wall clock.
  var at: Timestamp
  /// One word for programs; nil where the kind says all.
  var reason: String?
}
