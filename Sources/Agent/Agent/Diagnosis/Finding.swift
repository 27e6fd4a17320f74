internal import AgentModel

/// One result of a diagnosis.
struct Finding: Hashable, Sendable {
  enum Severity: String, CaseIterable, Sendable { case ok, notice, problem }

  /// What was looked at: a stable name.
  var check: String
  var severity: Severity
  /// A path, a name, an id.
  var subject: String?
  var account: AccountID?
  var message: String
  /// What the person can do, the best first: a sentence each.
  var remedies: [String]
}
