internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentPermissions
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
    if let before = params.before {
      let newest = try await newest(of: account, before: Int64(before), params, call)
      return AuditList.Result(entries: newest.map { WireAuditEntry($0) }, next: nil)
    }
    var found: [RecordedAuditEntry] = []
    // Between two pages others have their turn: one account's entries may be far apart.
    var position: Int64? = Int64(params.after ?? 0)
    while let after = position {
      let page = try await vault.readAudit { vault throws(AgentFailure) in try vault.audit.page(after: after) }
      for entry in page.entries where call.shows(entry, of: account) {
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

  /// The first span that is read backward; it grows while nothing is found, since sequences have gaps.
  private static let firstSpan: Int64 = 256

  /// The last entries before a sequence, in order.
  private static func newest(
    of account: AccountID?, before: Int64, _ params: AuditList.Params, _ call: Call
  ) async throws(AgentFailure) -> [RecordedAuditEntry] {
    let vault = call.agent.vault
    let last = try await vault.readAudit { vault throws(AgentFailure) in try vault.audit.chains().chains.last }
    let floor = Int64(params.after ?? 0)
    var (end, span) = (min(before, last + 1), firstSpan)
    var found: [RecordedAuditEntry] = []
    while found.count < params.limit, end - 1 > floor {
      let start = max(floor, end - 1 - span)
      var older: [RecordedAuditEntry] = []
      var position: Int64? = start
      while let after = position {
        let page = try await vault.readAudit { vault throws(AgentFailure) in try vault.audit.page(after: after) }
        older += page.entries.filter { $0.sequence < end && call.shows($0, of: account) }
        position = page.through.flatMap { $0 < end - 1 ? $0 : nil }
      }
      found = older + found
      if older.isEmpty { span *= 4 }
      end = start + 1
    }
    return Array(found.suffix(params.limit))
  }
}

extension Call {
  /// True for an entry that the caller may see and that is of the account, if one is asked for.
  fileprivate func shows(_ entry: RecordedAuditEntry, of account: AccountID?) -> Bool {
    guard account == nil || entry.account == account else { return false }
    return limits == nil || entry.account.map { sees($0) } ?? false
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
