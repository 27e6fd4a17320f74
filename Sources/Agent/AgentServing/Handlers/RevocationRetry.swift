internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

/// Tries one outbox entry, or all, now; answers with the entries that are left.
enum RevocationRetryHandler: MethodHandler {
  typealias Method = RevocationRetry

  static func handle(_ params: RevocationRetry.Params, _ call: Call) async throws(AgentFailure)
    -> RevocationRetry.Result
  {
    let vault = call.agent.vault
    let all = try await vault.read { vault throws(AgentFailure) in try vault.outbox.entries(within: call.limits) }
    let entries = all.filter { params.revocation == nil || $0.name == params.revocation }
    guard params.revocation == nil || !entries.isEmpty else { throw .notFound(.revocation) }
    for entry in entries { _ = await call.agent.revocations.send(entry) }
    let left = try await vault.read { vault throws(AgentFailure) in try vault.outbox.entries(within: call.limits) }
    return RevocationRetry.Result(revocations: left.map { WireRevocation($0, call.agent) })
  }
}
