package import AgentCore
package import AgentModel
package import JSONRPC
internal import SecretJSON
package import Secrets

/// An entry of the audit log, as it is read again. Its facts are the JSON that was written.
package struct RecordedAuditEntry: Sendable {
  package var sequence: Int64
  package var at: Timestamp
  package var event: String
  /// `ok`, the name of a failure, or the effect of a decision.
  package var outcome: String
  package var account: AccountID?
  package var client: String?
  /// Nil for an entry that happened once.
  package var repeats: AuditRepeats?
  package var facts: RawJSON?

  /// Nil if the record is not one that the agent wrote.
  package init?(_ plain: Secret, sequence: Int64) {
    let read = SecretJSON.read(plain) { node -> RecordedAuditEntry? in
      guard let at = node["at"]?.timestamp, let event = node["event"]?.string, let outcome = node["outcome"]?.string
      else { return nil }
      var repeats: AuditRepeats?
      if let count = node["count"]?.integer, count > 1, let first = node["firstAt"]?.timestamp,
        let last = node["lastAt"]?.timestamp
      {
        repeats = AuditRepeats(at: first)
        repeats?.count = count
        repeats?.lastAt = last
      }
      return RecordedAuditEntry(
        sequence: sequence, at: at, event: event, outcome: outcome,
        account: node["account"]?.string.flatMap { AccountID($0) }, client: node["client"]?.string,
        repeats: repeats, facts: node["facts"].map { RawJSON($0) })
    }
    guard let read else { return nil }
    self = read
  }

  private init(
    sequence: Int64, at: Timestamp, event: String, outcome: String, account: AccountID?, client: String?,
    repeats: AuditRepeats?, facts: RawJSON?
  ) {
    self.sequence = sequence
    self.at = at
    self.event = event
    self.outcome = outcome
    self.account = account
    self.client = client
    self.repeats = repeats
    self.facts = facts
  }
}
