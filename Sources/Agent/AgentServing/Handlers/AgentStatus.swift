internal import AgentCore
internal import AgentProtocol

enum AgentStatusHandler: MethodHandler {
  typealias Method = AgentStatus

  static func handle(_ params: AgentStatus.Params, _ call: Call) async throws(AgentFailure) -> AgentStatus.Result {
    let agent = call.agent
    var summary = try await agent.vault.summary()
    if let limits = call.limits {
      summary.profiles = summary.profiles.filter { limits.covers($0.id) }
      summary.pendingRevocations = summary.isLocked ? 0 : try await agent.vault.outbox(within: limits).count
    }
    var counts: [AccountState: Int] = [:]
    for profile in summary.profiles { counts[agent.state(of: profile), default: 0] += 1 }
    return AgentStatus.Result(
      locked: summary.isLocked, initialized: summary.isInitialized, protection: WireProtection(summary.protection),
      connectivity: WireConnectivityState(agent.connectivity.current.state),
      accounts: WireAccountCounts(
        total: summary.profiles.count,
        byState: WireMap(
          AccountState.allCases.compactMap { state in
            counts[state].map { WireMap.Entry(name: state.rawValue, value: $0) }
          })),
      pendingRevocations: summary.pendingRevocations, pendingOperations: 0, connections: call.server.connectionCount,
      startedAt: agent.startedAt,
      version: agent.version, callersAreTrusted: !agent.callerGrants.isStrict)
  }
}
