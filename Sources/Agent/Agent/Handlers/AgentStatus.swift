internal import AgentProtocol

enum AgentStatusHandler: MethodHandler {
  typealias Method = AgentStatus

  static func handle(_ params: AgentStatus.Params, _ call: Call) async throws(AgentFailure) -> AgentStatus.Result {
    let agent = call.agent
    let summary = try await agent.vault.summary(for: call)
    var counts: [WireAccountState: Int] = [:]
    for profile in summary.profiles { counts[agent.state(of: profile), default: 0] += 1 }
    return AgentStatus.Result(
      locked: summary.isLocked, initialized: summary.isInitialized, protection: summary.protection,
      connectivity: agent.connectivity.current.state,
      accounts: WireAccountCounts(
        total: summary.profiles.count,
        byState: WireMap(
          WireAccountState.allCases.compactMap { state in
            counts[state].map { WireMap.Entry(name: state.rawValue, value: $0) }
          })),
      pendingRevocations: summary.pendingRevocations, pendingOperations: 0, connections: agent.connectionCount,
      startedAt: agent.startedAt,
      version: agent.version, callersAreTrusted: !agent.callerGrants.isStrict)
  }
}
