internal import AgentPermissions
internal import AgentSessions
internal import AgentStore

extension PolicyDecisionPoint {
  /// `VaultActor.requestRoute`, without a hop where the table has it.
  func route(of account: Account) async throws(AgentFailure) -> RequestRoutes.Route {
    if let route = routes.route(of: account.id) { return route }
    return try await account.dependencies.vault.requestRoute(of: account.id)
  }
}
