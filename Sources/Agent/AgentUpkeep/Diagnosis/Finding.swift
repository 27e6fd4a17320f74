package import AgentModel

/// One result of a diagnosis.
package struct Finding: Hashable, Sendable {
  package enum Severity: String, CaseIterable, Sendable { case ok, notice, problem }

  /// The stable name of the check.
  package var check: String
  package var severity: Severity
  /// A path, a name, an id.
  package var subject: String?
  package var account: AccountID?
  package var message: String
  /// The steps that the person can take, the best first: a sentence each.
  package var remedies: [String]
}
