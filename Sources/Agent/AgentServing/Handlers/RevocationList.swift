internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum RevocationListHandler: MethodHandler {
  typealias Method = RevocationList

  static func handle(_ params: RevocationList.Params, _ call: Call) async throws(AgentFailure) -> RevocationList.Result
  {
    let entries = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.outbox.entries(within: call.limits)
    }
    return RevocationList.Result(revocations: entries.map { WireRevocation($0, call.agent) })
  }
}

extension WireRevocation {
  /// Without the token. A list has entries of several providers, so that its instants are by the machine's clock.
  init(_ entry: OutboxEntry, _ agent: AgentService) {
    let wall = { agent.time.wall($0, of: entry.provider) }
    self.init(
      id: entry.name, issuer: entry.issuer, accountLabel: entry.accountLabel, attempts: entry.attempts,
      nextAttemptAt: wall(entry.nextAttemptAt), expiresAt: wall(entry.end),
      lastError: entry.lastError.map { WireLastFailure(name: $0, at: wall(entry.lastErrorAt ?? entry.createdAt)) })
  }
}
