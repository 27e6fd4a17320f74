internal import AgentModel
internal import AgentRecords

/// The findings of one diagnosis, in the words of the contract.
struct Findings: Sendable {
  private(set) var list: [Finding] = []

  mutating func sound(_ check: String, _ message: String, subject: String? = nil) {
    list.append(Finding(check: check, severity: .ok, subject: subject, account: nil, message: message, remedies: []))
  }

  mutating func notice(_ check: String, _ message: String, _ remedies: String...) {
    notice(check, message, remedies: remedies)
  }

  mutating func notice(_ check: String, _ message: String, remedies: [String]) {
    add(check, .notice, message, remedies)
  }

  mutating func problem(
    _ check: String, _ message: String, subject: String? = nil, account: AccountID? = nil, _ remedies: String...
  ) {
    problem(check, message, subject: subject, account: account, remedies: remedies)
  }

  mutating func problem(
    _ check: String, _ message: String, subject: String? = nil, account: AccountID? = nil, remedies: [String]
  ) {
    list.append(
      Finding(
        check: check, severity: .problem, subject: subject, account: account, message: message, remedies: remedies))
  }

  mutating func notice(_ check: String, of account: AccountProfile, _ message: String, _ remedies: String...) {
    list.append(
      Finding(
        check: check, severity: .notice, subject: account.name, account: account.id, message: message,
        remedies: remedies))
  }

  private mutating func add(_ check: String, _ severity: Finding.Severity, _ message: String, _ remedies: [String]) {
    list.append(Finding(check: check, severity: severity, message: message, remedies: remedies))
  }
}

extension AccountProfile {
  /// The account's name in a command.
  var name: String { alias?.text ?? id.text }
}
