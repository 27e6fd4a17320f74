internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
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
