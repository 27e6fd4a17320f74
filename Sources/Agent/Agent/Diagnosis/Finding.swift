package import AgentModel

/// One result of a diagnosis.
package struct Finding: Hashable, Sendable {
  package enum Severity: String, CaseIterable, Sendable { case ok, notice, problem }

  /// What was looked at: a stable name.
  package var check: String
  package var severity: Severity
  /// A path, a name, an id.
  package var subject: String?
  package var account: AccountID?
  package var message: String
  /// What the person can do, the best first: a sentence each.
  package var remedies: [String]
}
