internal import AgentModel

/// A line of the audit log as `audit.list` gives it.
struct AuditEntry: Sendable {
  let sequence: Int64
  let at: Timestamp
  let event: String
  let outcome: String
  let account: String?
  let client: String?
  /// How often it happened, from `at` to `lastAt`.
  let count: Int64
  let lastAt: Timestamp
  let facts: JSONValue

  init?(_ value: JSONValue) {
    guard let sequence = value["sequence"]?.integer, let at = value["at"]?.moment, let event = value["event"]?.string
    else { return nil }
    self.sequence = sequence
    self.event = event
    outcome = value["outcome"]?.string ?? ""
    account = value["account"]?.string
    client = value["client"]?.string
    count = max(1, value["count"]?.integer ?? 1)
    self.at = value["firstAt"]?.moment ?? at
    lastAt = max(at, value["lastAt"]?.moment ?? at)
    facts = value["facts"] ?? [:]
  }

  func fact(_ name: String) -> String? {
    switch facts[name] {
    case .string(let text): text
    case .integer(let value): value.grouped
    case .bool(let value): value ? "true" : "false"
    default: nil
    }
  }

  /// The program that did it: for whom the grant is, else the client's own name for itself. Who makes a grant or decides about
  /// a request is not for whom.
  var program: String { (isOfPerson ? nil : fact("grantee")) ?? client ?? "the agent" }

  private var isOfPerson: Bool { event.hasPrefix("grant.") || event == "approval.decide" || event == "access.decide" }

  /// A program asked to reach a server, or whether it may do something.
  var isRequest: Bool { event.hasPrefix("request.") }
  var isDecision: Bool { event == "authorization.check" }

  enum Verdict: String, Sendable, CaseIterable {
    case allowed, refused, failed, done

    var tone: Tone {
      switch self {
      case .allowed: .good
      case .refused: .bad
      case .failed: .warn
      case .done: .idle
      }
    }
  }

  var verdict: Verdict {
    switch outcome {
    case "ok" where !isRequest && !isDecision: .done
    case "ok", "allow", "readOnly", "allowReadOnly", "once", "session": .allowed
    case "deny", "notPermitted", "denied", "originNotAllowed", "stepUpRequired", "notApproved", "declined": .refused
    default: .failed
    }
  }
}
