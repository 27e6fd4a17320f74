internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum SessionGetHandler: MethodHandler {
  typealias Method = SessionGet

  static func handle(_ params: SessionGet.Params, _ call: Call) async throws(AgentFailure) -> SessionGet.Result {
    let (_, account) = try await call.agent.accounts.account(params.account)
    let facts = try await account.session()
    var session = WireSession(facts)
    session.stepUpValidUntil = call.agent.stepUps.validUntil(session.account).map {
      call.agent.time.moment($0, of: facts.profile.provider)
    }
    // Signed in again, and the PIN not said yet: tokens flow, and what the account's programs keep does not open.
    if session.state != .signedOut, await isDataUnderPIN(session.account, call) {
      session.remedies.insert(.stepUp, at: session.remedies.first == .connect ? 1 : 0)
    }
    return session
  }

  private static func isDataUnderPIN(_ id: AccountID, _ call: Call) async -> Bool {
    (try? await call.agent.vault.read { vault throws(AgentFailure) in vault.stepUp.isDataUnderPIN(id) }) ?? false
  }
}

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

enum SnapshotRefreshHandler: MethodHandler {
  typealias Method = SnapshotRefresh

  static func handle(_ params: SnapshotRefresh.Params, _ call: Call) async throws(AgentFailure)
    -> SnapshotRefresh.Result
  {
    let (profile, account) = try await call.agent.accounts.account(params.account)
    try await account.refreshSnapshot()
    return try await SnapshotGetHandler.snapshot(of: profile, call)
  }
}
