internal import Agent
internal import AgentProtocol
internal import AgentSessions
internal import AgentStore

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
