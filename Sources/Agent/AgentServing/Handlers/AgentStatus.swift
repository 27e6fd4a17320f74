internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import AgentUpkeep

enum AgentStatusHandler: MethodHandler {
  typealias Method = AgentStatus

  static func handle(_ params: AgentStatus.Params, _ call: Call) async throws(AgentFailure) -> AgentStatus.Result {
    let agent = call.agent
    await call.agent.lookAgain()
    await agent.accounts.settle()
    let status = try await agent.vault.status(within: call.limits)
    var counts: [AccountState: Int] = [:]
    for profile in status.profiles { counts[agent.tokenCache.session(of: profile).state, default: 0] += 1 }
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
      configuration: agent.environment.configuration.path,
      hardSignOutDemandedBy: agent.environment.configuration.hardSignOutDemandedBy,
      audit: WireAuditSettings(agent.environment.configuration.audit), administrator: administrator(agent),
      policySource: call.limits == nil ? await agent.policySource.status().map { WirePolicySource($0) } : nil,
      trust: WireServerTrust(of: agent.environment.http))
  }

  /// Nil where the administrator lays nothing down.
  private static func administrator(_ agent: AgentService) -> WireAdministratorState? {
    let settings = agent.environment.configuration.administrator
    let problems = agent.administrator.problems
    let laid = agent.administrator.table.laid
    guard settings.file != nil || !problems.isEmpty || !laid.providers.isEmpty || !laid.policies.isEmpty else {
      return nil
    }
    return WireAdministratorState(
      file: settings.file, enforced: settings.enforced, overruled: settings.overruled,
      providers: laid.providers.map(\.provider.configuration.name), policies: laid.policies.map(\.policy.name),
      problems: Array(problems.prefix(256)))
  }
}

extension WireAuditSettings {
  /// Nil if the configuration says nothing.
  init?(_ settings: AuditSettings) {
    guard settings != AuditSettings() else { return nil }
    self.init(
      names: settings.names ?? false,
      export: (settings.destinations ?? []).map { destination in
        WireAuditDestination(
          to: WireAuditCollector(destination.kind), name: destination.name, socket: destination.socket,
          url: destination.url, caFile: destination.caFile, headersFile: destination.headersFile,
          account: destination.account)
      })
  }
}

extension WireAuditCollector {
  init(_ kind: AuditDestination.Kind) {
    switch kind {
    case .journald: self = .journald
    case .syslog: self = .syslog
    case .otlp: self = .otlp
    }
  }
}
