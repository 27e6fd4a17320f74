internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import AgentUpkeep

enum AuditListHandler: MethodHandler {
  typealias Method = AuditList

  static func handle(_ params: AuditList.Params, _ call: Call) async throws(AgentFailure) -> AuditList.Result {
    let vault = call.agent.vault
    let selector = try params.account.map(call.pinned)
    let account = try await vault.read { vault throws(AgentFailure) in try vault.audit.account(selector) }
    var found: [RecordedAuditEntry] = []
    // Between two pages others have their turn: one account's entries may be far apart.
    var position: Int64? = Int64(params.after ?? 0)
    while let after = position {
      let page = try await vault.readAudit { vault throws(AgentFailure) in try vault.audit.page(after: after) }
      for entry in page.entries where account == nil || entry.account == account {
        guard call.limits == nil || entry.account.map({ call.sees($0) }) ?? false else { continue }
        // There is more, and so the last one that fits says where it goes on.
        if found.count == params.limit {
          return AuditList.Result(entries: found.map { WireAuditEntry($0) }, next: found.last.map { Int($0.sequence) })
        }
        found.append(entry)
      }
      position = page.through
    }
    return AuditList.Result(entries: found.map { WireAuditEntry($0) }, next: nil)
  }
}

extension WireAuditEntry {
  init(_ entry: RecordedAuditEntry) {
    self.init(
      sequence: Int(entry.sequence), at: entry.at, event: entry.event, outcome: entry.outcome, account: entry.account,
      client: entry.client, count: entry.repeats.map { Int($0.count) }, firstAt: entry.repeats?.firstAt,
      lastAt: entry.repeats?.lastAt, facts: entry.facts)
  }
}

enum AuditVerifyHandler: MethodHandler {
  typealias Method = AuditVerify

  static func handle(_ params: AuditVerify.Params, _ call: Call) async throws(AgentFailure) -> AuditVerify.Result {
    let vault = call.agent.vault
    let selector = try params.account.map(call.pinned)
    _ = try await vault.read { vault throws(AgentFailure) in try vault.audit.account(selector) }
    let found = try await AuditVerification(of: vault, countingAfter: Int64(params.after ?? 0))
    let head = found.chains.security.link + found.chains.decisions.link
    let count = min(found.checked, params.limit.map { Int64($0) } ?? found.checked)
    return AuditVerify.Result(
      intact: found.firstBroken == nil, entries: Int(count),
      head: Base64URL.encode(head), firstBroken: found.firstBroken.map { Int($0) })
  }
}
