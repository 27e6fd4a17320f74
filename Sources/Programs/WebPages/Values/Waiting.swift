internal import AgentModel

/// A program's request that waits for a verdict, as `approval.list` gives it.
struct Approval: Sendable {
  let id: String
  let client: String
  let grant: String
  let account: String
  let capability: String
  let method: String
  let url: String
  let requestedAt: Timestamp?
  let expiresAt: Timestamp?
  /// How many callers wait with this request.
  let callers: Int64
  /// A yes needs a step-up besides.
  let needsStepUp: Bool

  init?(_ value: JSONValue) {
    guard let id = value["approval"]?.string else { return nil }
    self.id = id
    client = value["client"]?.string ?? ""
    grant = value["grant"]?.string ?? ""
    account = value["account"]?.string ?? ""
    capability = value["capability"]?.string ?? ""
    method = value["method"]?.string ?? ""
    url = value["url"]?.string ?? ""
    requestedAt = value["requestedAt"]?.moment
    expiresAt = value["expiresAt"]?.moment
    callers = value["waiting"]?.integer ?? 1
    needsStepUp = value["stepUp"] != nil
  }

  /// The host of the URL, and what follows it.
  var target: (host: String, path: String) {
    guard let scheme = url.firstRange(of: "://") else { return (url, "") }
    let rest = url[scheme.upperBound...]
    guard let end = rest.firstIndex(where: { "/?#".contains($0) }) else { return (String(rest), "") }
    return (String(rest[..<end]), String(rest[end...]))
  }
}

/// A program's request for more than its grant has, as `access.list` gives it.
struct AccessRequest: Sendable {
  let id: String
  let client: String
  let grant: String
  let origins: [String]
  let methods: [String]
  let capabilities: [String]
  let reason: String
  let requestedAt: Timestamp?

  init?(_ value: JSONValue) {
    guard let id = value["request"]?.string else { return nil }
    self.id = id
    client = value["client"]?.string ?? ""
    grant = value["grant"]?.string ?? ""
    origins = value["origins"]?.strings ?? []
    methods = value["methods"]?.strings ?? []
    capabilities = value["capabilities"]?.strings ?? []
    reason = value["reason"]?.string ?? ""
    requestedAt = value["requestedAt"]?.moment
  }
}

/// All that waits for the person's word.
struct WaitingDecisions: Sendable {
  let approvals: [Approval]
  let access: [AccessRequest]
  var count: Int { approvals.count + access.count }

  init(_ answers: AgentAnswers) {
    approvals = answers["approvals"]?["approvals"]?.elements.compactMap { Approval($0) } ?? []
    access = answers["access"]?["requests"]?.elements.compactMap { AccessRequest($0) } ?? []
  }
}
