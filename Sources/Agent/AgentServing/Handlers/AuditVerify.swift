internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol

enum AuditVerifyHandler: MethodHandler {
  typealias Method = AuditVerify

  static func handle(_ params: AuditVerify.Params, _ call: Call) async throws(AgentFailure) -> AuditVerify.Result {
    let vault = call.agent.vault
    let selector = try params.account.map(call.pinned)
    _ = try await vault.read { vault throws(AgentFailure) in try vault.audit.account(selector) }
    let found = try await AuditVerification(of: vault)
    return AuditVerify.Result(
      intact: found.firstBroken == nil, entries: count(found.checked, from: found.chain.first, params),
      head: Base64URL.encode(found.chain.link), firstBroken: found.firstBroken.map { Int($0) })
  }

  /// Counts the wanted entries among consecutive ones.
  private static func count(_ checked: Int64, from first: Int64, _ params: AuditVerify.Params) -> Int {
    let skipped = max(0, Int64(params.after ?? 0) - (first - 1))
    return Int(min(max(0, checked - skipped), params.limit.map { Int64($0) } ?? checked))
  }
}
