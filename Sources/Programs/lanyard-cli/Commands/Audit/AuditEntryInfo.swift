import JSONRPC

/// One entry of the audit log.
struct AuditEntryInfo {
  let sequence: Int64
  let account: String?
  let client: String?
  let when: String
  /// Event and outcome as a sentence.
  let sentence: String
  let style: Style?
  /// The agent's JSON, for `--json`.
  let json: String

  init(_ node: JSONNode) {
    sequence = node["sequence"]?.integer ?? 0
    account = node["account"]?.string
    client = node["client"]?.string
    when = node["at"]?.string.flatMap { Moment($0) }?.dateAndTime ?? "-"
    let event = node["event"]?.string ?? "-"
    let outcome = node["outcome"]?.string ?? "-"
    let times = node["count"]?.integer.map { count in
      ", \(count) times" + (node["lastAt"]?.string.flatMap { Moment($0) }.map { " until \($0.dateAndTime)" } ?? "")
    }
    sentence = AuditMessages.sentence(event, outcome: outcome, node["facts"]) + (times ?? "")
    style =
      switch outcome {
      case "ok", "allow": nil
      case "allowReadOnly": .notice
      default: .bad
      }
    json = node.text
  }
}
