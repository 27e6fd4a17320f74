internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentOAuth
internal import AgentPermissions
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import AgentUpkeep
internal import AgentWire
internal import JSONRPC

enum RpcDiscoverHandler: MethodHandler {
  typealias Method = RpcDiscover

  static func handle(_ params: RpcDiscover.Params, _ call: Call) async throws(AgentFailure) -> RpcDiscover.Result {
    RawJSON(OpenRPCDocument.text)
  }
}

enum AgentHelloHandler: OrderedMethodHandler {
  typealias Method = AgentHello

  static func handle(_ params: AgentHello.Params, _ call: Call) throws(AgentFailure) -> AgentHello.Result {
    // First: a client that asks to be limited is limited, also if the rest of this hello is wrong.
    if let grant = params.grant { try call.client.present(grant) }
    if let wanted = params.`protocol`, wanted != AgentContract.protocolVersion {
      throw .unsupportedProtocol(supported: AgentContract.protocolVersion)
    }
    call.client.name = params.client.name
    return AgentHello.Result(
      agent: WireAgentIdentity(name: "lanyard-agent", version: call.agent.version),
      protocol: AgentContract.protocolVersion, instance: call.agent.instance, schemaDigest: AgentContract.schemaDigest,
      features: ServedMethods.features,
      limits: WireAgentLimits(
        lineBytes: Limits.lineBytes, bodyLineBytes: Limits.bodyLineBytes, nesting: Limits.nesting,
        requestsInFlight: call.connections.limits.requestsInFlight, connections: call.connections.limits.connections,
        lineSeconds: Int(Limits.lineSeconds), eventBacklogBytes: Limits.eventBacklogBytes,
        waitingBytes: Limits.waitingBytes,
        connectionsOfOneProcess: min(ConnectionPlaces.ofOneProcess, call.connections.limits.connections),
        subscriptions: EventHub.subscriptionsPerConnection))
  }
}

extension ServedMethods {
  /// The groups of methods that are served as a whole, so that a client may rely on every method of a listed feature.
  static let features: [String] = {
    var whole: [String: Bool] = [:]
    for info in MethodTable.all { whole[info.feature] = (whole[info.feature] ?? true) && all.serves(info.name) }
    // Of a group that is served only in part, list the served methods; later releases may add the others.
    let single = MethodTable.all.filter { whole[$0.feature] == false && all.serves($0.name) }.map(\.name)
    return (whole.filter(\.value).map(\.key) + single + ["signIn.browser", "signIn.device"]).sorted()
  }()
}

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
      connections: call.connections.count,
      startedAt: agent.startedAt,
      version: agent.version, callersAreTrusted: !agent.callerGrants.isStrict,
      memoryLocked: agent.environment.configuration.isMemoryLocked(),
      confinement: WireConfinement(agent.environment.configuration.confinement ?? Confinement.none),
      configuration: agent.environment.configuration.path,
      stateDirectory: call.limits == nil ? agent.environment.configuration.stateDirectory : nil,
      hardSignOutDemandedBy: agent.environment.configuration.hardSignOutDemandedBy,
      audit: WireAuditSettings(agent.environment.configuration.audit), administrator: administrator(agent),
      policySource: call.limits == nil ? await agent.policySource.status().map { WirePolicySource($0) } : nil,
      trust: WireServerTrust(of: agent.environment.http))
  }

  /// Nil where the administrator lays nothing down.
  private static func administrator(_ agent: AgentService) -> WireAdministratorState? {
    let settings = agent.environment.configuration.administrator
    let problems = agent.administrator.problems
    let content = agent.administrator.table.content
    guard settings.file != nil || !problems.isEmpty || !content.providers.isEmpty || !content.policies.isEmpty else {
      return nil
    }
    return WireAdministratorState(
      file: settings.file, enforced: settings.enforced, overruled: settings.overruled,
      providers: content.providers.map(\.provider.configuration.name), policies: content.policies.map(\.policy.name),
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

enum AgentInitializeHandler: MethodHandler {
  typealias Method = AgentInitialize

  static func handle(_ params: AgentInitialize.Params, _ call: Call) async throws(AgentFailure)
    -> AgentInitialize.Result
  {
    let (protection, passphrase) = (params.protection.rawValue, params.passphrase)
    // Once, under any protection: `agent.unlock` opens a vault that exists.
    guard try await !call.agent.vault.status().isInitialized else { throw .vaultExists }
    guard protection == call.agent.vault.dependencies.protection else {
      throw .invalidParameter("/protection", expected: "the protection that this agent was started with")
    }
    guard (params.protection == .passphrase) == (passphrase != nil) else {
      throw .invalidParameter(
        "/passphrase",
        expected: passphrase == nil
          ? "a passphrase, since it protects the vault" : "no passphrase, since another key protects the vault")
    }
    await call.agent.vault.unlockKeys(for: protection)
    try await call.agent.unlock(.agentInitialize) { (vault) async throws(AgentFailure) in
      if let passphrase { return try await vault.initialize(passphrase: passphrase) }
      // Another request may have made the vault meanwhile.
      guard try await !vault.status().isInitialized, try await vault.openAgain() else { throw .vaultExists }
    }
    return AgentInitialize.Result(locked: false, protection: params.protection)
  }
}

enum AgentLockHandler: MethodHandler {
  typealias Method = AgentLock

  static func handle(_ params: AgentLock.Params, _ call: Call) async throws(AgentFailure) -> AgentLock.Result {
    await call.agent.lock(because: .request)
    return AgentLock.Result(locked: true)
  }
}

enum AgentUnlockHandler: MethodHandler {
  typealias Method = AgentUnlock

  static func handle(_ params: AgentUnlock.Params, _ call: Call) async throws(AgentFailure) -> AgentUnlock.Result {
    let agent = call.agent
    if await agent.vault.isOpen { return AgentUnlock.Result(locked: false) }
    var passphrase = params.passphrase
    if passphrase == nil, params.prompt != nil { passphrase = try await agent.typedPassphrase() }
    // A key source may have to ask the person for its key, which takes as long as a person does.
    if passphrase == nil { await agent.vault.unlockKeys() }
    let given = passphrase
    try await agent.unlock(.agentUnlock) { (vault) async throws(AgentFailure) in
      if let given { return try await vault.unlock(passphrase: given) }
      guard try await vault.openAgain() else {
        throw .invalidParameter("/passphrase", expected: "the passphrase of the vault")
      }
    }
    return AgentUnlock.Result(locked: false)
  }
}

enum AgentDiagnoseHandler: MethodHandler {
  typealias Method = AgentDiagnose

  static func handle(_ params: AgentDiagnose.Params, _ call: Call) async throws(AgentFailure) -> AgentDiagnose.Result {
    if let provider = params.provider {
      let said = try await call.agent.diagnosis.refusals(of: provider)
      return AgentDiagnose.Result(findings: said.map { WireFinding($0) })
    }
    await call.agent.lookAgain()
    var findings = await call.agent.diagnosis.findings(within: call.limits)
    findings += call.connections.findings()
    if params.askProviders { findings += await ProviderDiagnosis(by: call.agent.setup).findings(within: call.limits) }
    return AgentDiagnose.Result(findings: findings.map { WireFinding($0) })
  }
}

enum AgentShutdownHandler: OrderedMethodHandler {
  typealias Method = AgentShutdown

  static func handle(_ params: AgentShutdown.Params, _ call: Call) throws(AgentFailure) -> AgentShutdown.Result {
    AgentShutdown.Result()
  }

  static func answered(_ result: AgentShutdown.Result, _ call: Call) { call.agent.shutDown() }
}
