internal import Agent
internal import AgentCore
internal import AgentPorts
internal import AgentProtocol

enum AgentStatusHandler: MethodHandler {
  typealias Method = AgentStatus

  static func handle(_ params: AgentStatus.Params, _ call: Call) async throws(AgentFailure) -> AgentStatus.Result {
    let agent = call.agent
    let status = try await agent.vault.status(within: call.limits)
    var counts: [AccountState: Int] = [:]
    for profile in status.profiles { counts[agent.state(of: profile), default: 0] += 1 }
    return AgentStatus.Result(
      locked: status.isLocked, initialized: status.isInitialized, protection: WireProtection(status.protection),
      connectivity: WireConnectivityState(agent.connectivity.current.state),
      accounts: status.isLocked
        ? nil
        : WireAccountCounts(
          total: status.profiles.count,
          byState: WireMap(
            AccountState.allCases.compactMap { state in
              counts[state].map { WireMap.Entry(name: state.rawValue, value: $0) }
            })),
      pendingRevocations: status.pendingRevocations, pendingOperations: status.pendingOperations,
      connections: call.server.connectionCount,
      startedAt: agent.startedAt,
      version: agent.version, callersAreTrusted: !agent.callerGrants.isStrict,
      memoryLocked: agent.environment.configuration.isMemoryLocked(),
      confinement: WireConfinement(agent.environment.configuration.confinement ?? Confinement.none),
      configuration: agent.environment.configuration.path)
  }
}
