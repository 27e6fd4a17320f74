internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import AgentUpkeep

enum MetricsReadHandler: MethodHandler {
  typealias Method = MetricsRead

  static func handle(_ params: MetricsRead.Params, _ call: Call) async throws(AgentFailure) -> MetricsRead.Result {
    let agent = call.agent
    let report = FigureReport(agent.environment.figures.counted, try await present(call))
    return MetricsRead.Result(
      at: report.at, startedAt: agent.startedAt, version: agent.version, locked: report.isLocked,
      counters: report.counters.map { WireFigure($0) }, gauges: report.gauges.map { WireFigure($0) },
      histograms: report.histograms.map { WireHistogram($0) })
  }

  /// How the agent stands now. The figures are of the whole agent, also for a limited caller: they name no account.
  private static func present(_ call: Call) async throws(AgentFailure) -> FigureReport.Present {
    let agent = call.agent
    await agent.accounts.settle()
    let (environment, queue) = (agent.environment, agent.gate.load)
    let status = try await agent.vault.status(within: nil)
    let isOnline: Bool? =
      switch agent.connectivity.current.state {
      case .online: true
      case .offline: false
      case .unknown: nil
      }
    return FigureReport.Present(
      now: environment.clock.boot(), at: environment.clock.wall(), startedAt: agent.startedAt,
      connections: Int64(call.connections.count), residentBytes: environment.configuration.residentBytes(),
      isOnline: isOnline, waitingExchanges: Int64(queue.waiting), silentIssuers: Int64(queue.silentIssuers),
      eventGaps: call.connections.events.gaps, tokensFromMemory: environment.figures.tokensFromMemory,
      repeats: agent.decisionCache.repeats, vault: vault(status, agent))
  }

  /// Nil while the vault is locked.
  private static func vault(_ status: VaultStatus, _ agent: AgentService) -> FigureReport.Vault? {
    guard !status.isLocked else { return nil }
    var counts: [AccountState: Int64] = [:]
    var confirmedAt: [String: Timestamp] = [:]
    for profile in status.profiles {
      counts[agent.tokenCache.session(of: profile).state, default: 0] += 1
      guard profile.signInStatus == .signedIn, let told = profile.lastOnlineAuthAt else { continue }
      let digest = FigureKeeper.digest(ofIssuer: profile.identity.issuer)
      let moment = agent.time.wall(told.time, of: profile.provider)
      confirmedAt[digest] = max(confirmedAt[digest] ?? moment, moment)
    }
    return FigureReport.Vault(
      accounts: counts, pendingRevocations: Int64(status.pendingRevocations),
      pendingOperations: Int64(status.pendingOperations), confirmedAt: confirmedAt)
  }
}

extension WireFigure {
  fileprivate init(_ figure: Figure) {
    self.init(
      name: figure.name, help: figure.help, unit: figure.unit.map { WireFigureUnit($0) },
      samples: figure.samples.map { WireFigureSample(labels: WireMap($0.labels), value: Int($0.value)) })
  }
}

extension WireHistogram {
  fileprivate init(_ figure: HistogramFigure) {
    self.init(
      name: figure.name, help: figure.help, unit: .seconds, boundsMs: DurationHistogram.bounds.map { Int($0) },
      samples: figure.samples.map { sample in
        WireHistogramSample(
          labels: WireMap(sample.labels), counts: sample.histogram.counts.map { Int($0) },
          count: Int(sample.histogram.count), sumMs: Int(sample.histogram.sum.count))
      })
  }
}

extension WireFigureUnit {
  fileprivate init(_ unit: Figure.Unit) {
    switch unit {
    case .bytes: self = .bytes
    case .seconds: self = .seconds
    }
  }
}

extension WireMap<String> {
  fileprivate init(_ labels: [Figure.Label]) { self.init(labels.map { Entry(name: $0.name, value: $0.value) }) }
}
