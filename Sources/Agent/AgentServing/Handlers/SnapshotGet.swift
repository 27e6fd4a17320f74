internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum SnapshotGetHandler: MethodHandler {
  typealias Method = SnapshotGet

  static func handle(_ params: SnapshotGet.Params, _ call: Call) async throws(AgentFailure) -> SnapshotGet.Result {
    let profile = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.programSecrets.readable(params.account)
    }
    return try await snapshot(of: profile, call)
  }

  static func snapshot(of profile: AccountProfile, _ call: Call) async throws(AgentFailure) -> WireSnapshot {
    guard let (snapshot, _) = try await call.agent.accounts.account(profile.id).snapshot() else {
      throw .notFound(.snapshot, profile.id)
    }
    return WireSnapshot(
      account: profile.id, roles: snapshot.roles.sorted(), scopes: snapshot.scopes.names,
      entitlements: snapshot.entitlements.sorted(),
      fetchedAt: snapshot.fetchedAt.time, version: Int(snapshot.version),
      source: WireSnapshotSource(rawValue: snapshot.source.rawValue) ?? .refresh)
  }
}
