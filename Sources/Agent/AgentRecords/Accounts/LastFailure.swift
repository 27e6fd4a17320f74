internal import AgentCore
package import AgentModel

/// The last failed exchange of an account, for `session.get`.
package struct LastFailure: Hashable, Sendable {
  package var kind: FailureKind
  /// On the provider's timeline.
  package var at: Timestamp
  /// One word for programs; nil where the kind says all.
  package var reason: String?
  /// The file that was to have a machine's token; not kept on disk.
  package var file: String? = nil

  package init(kind: FailureKind, at: Timestamp, reason: String? = nil) {
    self.kind = kind
    self.at = at
    self.reason = reason
  }
}
