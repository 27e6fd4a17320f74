internal import AgentProtocol

enum RevocationListHandler: MethodHandler {
  typealias Method = RevocationList

  static func handle(_ params: RevocationList.Params, _ call: Call) async throws(RPCError) -> RevocationList.Result {
    RevocationList.Result(revocations: try await call.agent.registry.outbox().map { WireRevocation($0) })
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
