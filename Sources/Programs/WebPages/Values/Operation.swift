internal import AgentModel

/// A queued operation as `operation.list` gives it, without what it carries.
struct Operation: Sendable {
  let id: String
  let account: String
  let status: String
  let capability: String
  let label: String?
  let method: String?
  let url: String?
  let enqueuedAt: Timestamp?
  let nextAttemptAt: Timestamp?
  let expiresAt: Timestamp?
  let attempts: Int64
  /// Why it waits or was refused.
  let problem: String?

  init?(_ value: JSONValue) {
    guard let id = value["operation"]?.string, let account = value["account"]?.string else { return nil }
    self.id = id
    self.account = account
    status = value["status"]?.string ?? ""
    capability = value["capability"]?.string ?? ""
    label = value["label"]?.string
    method = value["request"]?["method"]?.string
    url = value["request"]?["url"]?.string.map { String($0.prefix { $0 != "?" }) }
    enqueuedAt = value["enqueuedAt"]?.moment
    nextAttemptAt = value["nextAttemptAt"]?.moment
    expiresAt = value["expiresAt"]?.moment
    attempts = value["attempts"]?.integer ?? 0
    let rejection = value["rejection"]
    let answer = rejection?["response"]?["status"]?.integer.map { "the server answered \($0)" }
    let reason = rejection?["decision"]?["reason"]?.string ?? rejection?["reason"]?.string
    problem =
      answer
      ?? (reason ?? value["lastError"]?["reason"]?.string ?? value["lastError"]?["name"]?.string)
      .map { Words.spaced($0).lowercased() }
  }

  var isOver: Bool { status == "done" || status == "cancelled" }
  var canRetry: Bool { ["queued", "rejected", "needsInteraction", "unknown"].contains(status) }
  var canAbandon: Bool { status != "sending" }

  var words: (short: String, tone: Tone) {
    switch status {
    case "queued": ("waits", .idle)
    case "ready": ("ready", .good)
    case "sending": ("being sent", .good)
    case "done": ("done", .good)
    case "rejected": ("refused", .bad)
    case "needsInteraction": ("needs you", .bad)
    case "unknown": ("outcome unknown", .warn)
    case "orphaned": ("its program is gone", .warn)
    default: (Words.spaced(status), .idle)
    }
  }
}

/// A token that is still to be revoked, as `revocation.list` gives it.
struct Revocation: Sendable {
  let id: String
  let issuer: String
  let account: String
  let attempts: Int64
  let nextAttemptAt: Timestamp?
  let expiresAt: Timestamp?
  let problem: String?

  init?(_ value: JSONValue) {
    guard let id = value["id"]?.string else { return nil }
    self.id = id
    issuer = value["issuer"]?.string ?? ""
    account = value["accountLabel"]?.string ?? ""
    attempts = value["attempts"]?.integer ?? 0
    nextAttemptAt = value["nextAttemptAt"]?.moment
    expiresAt = value["expiresAt"]?.moment
    problem = value["lastError"]?["name"]?.string.map { Words.spaced($0) }
  }
}
