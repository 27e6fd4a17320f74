internal import Agent
internal import AgentProtocol
internal import AgentStore

enum RevocationListHandler: MethodHandler {
  typealias Method = RevocationList

  static func handle(_ params: RevocationList.Params, _ call: Call) async throws(AgentFailure) -> RevocationList.Result
  {
    let entries = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.outbox.entries(within: call.limits)
    }
    return RevocationList.Result(revocations: entries.map { WireRevocation($0) })
  }
}

extension WireRevocation {
  /// Without the token.
  init(_ entry: OutboxEntry) {
    self.init(
      id: entry.name, issuer: entry.issuer, accountLabel: entry.accountLabel, attempts: entry.attempts,
      nextAttemptAt: entry.nextAttemptAt, expiresAt: entry.expiresAt,
      lastError: entry.lastError.map { WireLastFailure(name: $0, at: entry.lastErrorAt ?? entry.createdAt) })
  }
}
