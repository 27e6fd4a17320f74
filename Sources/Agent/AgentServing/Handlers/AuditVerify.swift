internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import AgentUpkeep

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
