internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum RevocationAbandonHandler: MethodHandler {
  typealias Method = RevocationAbandon

  static func handle(
    _ params: RevocationAbandon.Params, _ call: Call
  ) async throws(AgentFailure) -> RevocationAbandon.Result {
    let entries = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.outbox.entries(within: call.limits)
    }
    guard let entry = entries.first(where: { $0.name == params.revocation }) else { throw .notFound(.revocation) }
    try await call.agent.revocations.abandon(entry)
    return RevocationAbandon.Result(revocation: params.revocation)
  }
}
