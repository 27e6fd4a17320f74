import AgentCore
import AgentModel
import Testing

/// What the agent counts, and its bounds.
struct FiguresTests {
  private let now = BootInstant(milliseconds: 10_000)

  @Test("F1: the seventeenth issuer counts as `other`, and one that is known keeps its own")
  func issuersAreBounded() {
    var figures = Figures()
    for number in 0..<1_000 { figures.exchangeEnded(.renewed, issuer: "issuer\(number)", at: now) }
    figures.exchangeEnded(.offline, issuer: "issuer3", at: now)
    #expect(figures.issuers.count == Figures.mostIssuers + 1)
    #expect(figures.issuers["other"]?.count(of: .renewed) == 1_000 - Int64(Figures.mostIssuers))
    #expect(figures.issuers["issuer3"]?.count(of: .offline) == 1)
  }

  @Test("Sign-ins and token exchanges count beside refreshes, by kind, with the same bound of issuers")
  func grants() {
    var figures = Figures()
    figures.grantEnded(.signIn, .renewed, issuer: "a")
    figures.grantEnded(.tokenExchange, .offline, issuer: "a")
    for number in 0..<100 { figures.grantEnded(.signIn, .renewed, issuer: "b\(number)") }
    let told = FigureReport(figures, present(at: now)).counters.first { $0.name == "lanyard_grant_exchanges" }?.samples
    #expect(told?.count == Figures.mostIssuers + 2)
    #expect(told?[0].labels.map(\.value) == ["a", "signIn", "granted"] && told?[0].value == 1)
    #expect(told?[1].labels.map(\.value) == ["a", "tokenExchange", "offline"])
    #expect(told?.last?.labels[0].value == Figures.otherIssuer && told?.last?.value == 85)
    #expect(figures.issuers["a"]?.renewedAt == nil)
  }

  @Test("A failure leaves the time of the last good refresh")
  func lastRefresh() {
    var figures = Figures()
    figures.exchangeEnded(.offline, issuer: "a", at: now)
    #expect(figures.issuers["a"]?.renewedAt == nil)
    figures.exchangeEnded(.renewed, issuer: "a", at: now)
    figures.exchangeEnded(.outcomeUnknown, issuer: "a", at: now + .seconds(60))
    #expect(figures.issuers["a"]?.renewedAt == now)
    let report = FigureReport(figures, present(at: now + .seconds(90)))
    #expect(sample(report.gauges, "lanyard_last_refresh_age_seconds") == 90)
    #expect(sample(report.gauges, "lanyard_last_refresh_time_seconds") == 999_910)
  }

  @Test("Before the first refresh since the start, what the vault knows of an issuer is told; the cap of issuers holds")
  func lastRefreshOfAnEarlierRun() {
    var figures = Figures()
    figures.exchangeEnded(.renewed, issuer: "a", at: now)
    var standing = present(at: now + .seconds(5))
    standing.vault?.confirmedAt = ["a": standing.at + .seconds(-500), "b": standing.at + .seconds(-70)]
    var told = FigureReport(figures, standing).gauges.first { $0.name == "lanyard_last_refresh_age_seconds" }?.samples
    #expect(told?.map(\.labels[0].value) == ["a", "b"] && told?.map(\.value) == [5, 70])
    for number in 0..<100 { standing.vault?.confirmedAt["c\(number)"] = standing.at + .seconds(Int64(number - 200)) }
    told = FigureReport(figures, standing).gauges.first { $0.name == "lanyard_last_refresh_age_seconds" }?.samples
    #expect(told?.count == Figures.mostIssuers + 1)
    #expect(told?.first { $0.labels[0].value == Figures.otherIssuer }?.value == 101)
  }

  @Test("A duration is counted in the first bucket whose bound it does not pass")
  func buckets() {
    var histogram = DurationHistogram()
    for duration in [-5, 0, 1, 2, 5, 60_000, 60_001] as [Int64] { histogram.record(Milliseconds(duration)) }
    #expect(histogram.counts.first == 3 && histogram.counts[1] == 2 && histogram.counts.suffix(2) == [1, 1])
    #expect(histogram.count == 7 && histogram.sum == Milliseconds(120_009))
    #expect(DurationHistogram.bounds == DurationHistogram.bounds.sorted())
  }

  @Test("Decisions made and repeated are told together, by effect and reason")
  func decisions() {
    var (figures, repeats) = (Figures(), DecisionCounts())
    figures.decided(
      decision(.deny, .missingRole, failed: [.init(.roles, .missingRole), .init(.budget, .budgetExceeded)]))
    figures.decided(decision(.allow, .allowed))
    repeats.count(DecisionCounts.Cell(.allow, .allowed))
    repeats.count(DecisionCounts.Cell(.readOnly, .offlineWindowExpired))
    let report = FigureReport(figures, present(at: now, repeats: repeats))
    let found = report.counters.first { $0.name == "lanyard_decisions" }?.samples ?? []
    func value(_ effect: String, _ reason: String) -> Int64? {
      found.first { $0.labels.map(\.value) == [effect, reason] }?.value
    }
    #expect(value("deny", "missingRole") == 1 && value("allow", "allowed") == 2)
    #expect(value("readOnly", "offlineWindowExpired") == 1 && value("readOnly", "missingRole") == nil)
    #expect(value("deny", "policyError") == 0 && value("deny", "allowed") == nil)
    #expect(sample(report.counters, "lanyard_budget_refusals") == 1)
    #expect(report.counters.first { $0.name == "lanyard_memory_answers" }?.samples.map(\.value) == [2, 0])
  }

  @Test("While the vault is locked the figures that need it are left out, and all others are there")
  func locked() {
    let names = ["lanyard_accounts", "lanyard_pending_revocations", "lanyard_pending_operations"]
    let open = FigureReport(Figures(), present(at: now))
    let locked = FigureReport(Figures(), present(at: now, isLocked: true))
    #expect(Set(open.gauges.map(\.name)).subtracting(locked.gauges.map(\.name)) == Set(names))
    #expect(sample(locked.gauges, "lanyard_locked") == 1 && locked.isLocked)
    #expect(sample(open.gauges, "lanyard_locked") == 0 && !open.isLocked)
    #expect(open.counters.map(\.name) == locked.counters.map(\.name))
  }

  @Test("Every name is that of a metric, names are unique, and a unit ends the name")
  func names() {
    let report = FigureReport(Figures(), present(at: now))
    let figures = report.counters + report.gauges
    let names = figures.map(\.name) + report.histograms.map(\.name)
    #expect(Set(names).count == names.count)
    for name in names {
      #expect(name.hasPrefix("lanyard_") && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F })
      #expect(!name.hasSuffix("_total") && !name.hasSuffix("_count") && !name.hasSuffix("_sum"))
    }
    for figure in figures { #expect(figure.unit.map { figure.name.hasSuffix("_" + $0.rawValue) } ?? true) }
  }

  @Test(
    "Methods by kind",
    arguments: [
      ("token.get", .token), ("identity.get", .token), ("credential.aws", .token), ("request.send", .request),
      ("authorization.checkMany", .authorization), ("operation.claim", .operation), ("signIn.wait", .person),
      ("stepUp.verify", .person), ("agent.unlock", .person), ("agent.status", .other), ("metrics.read", .other),
      ("nonsense", .other),
    ] as [(String, RequestKind)])
  func kinds(_ method: String, _ kind: RequestKind) { #expect(RequestKind(method: method) == kind) }

  private func sample(_ figures: [Figure], _ name: String) -> Int64? {
    figures.first { $0.name == name }?.samples.first?.value
  }

  private func present(
    at now: BootInstant, repeats: DecisionCounts = DecisionCounts(), isLocked: Bool = false
  ) -> FigureReport.Present {
    FigureReport.Present(
      now: now, at: Timestamp(milliseconds: 1_000_000_000), startedAt: Timestamp(milliseconds: 500_000_000),
      connections: 3, residentBytes: 4096, isOnline: true, waitingExchanges: 0, silentIssuers: 0, eventGaps: 0,
      tokensFromMemory: 0, repeats: repeats,
      vault: isLocked
        ? nil : FigureReport.Vault(accounts: [.active: 2], pendingRevocations: 1, pendingOperations: 4))
  }

  private func decision(
    _ effect: Decision.Effect, _ reason: Decision.Reason, failed: [Decision.Failure] = []
  ) -> Decision {
    Decision(
      capability: "x", effect: effect, reason: reason, failed: failed, obligations: [], remedies: [],
      policyName: "p", policyVersion: 1, snapshotVersion: 1)
  }
}
