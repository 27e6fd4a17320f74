import FleetSimulation
import Testing

/// A small fleet does to its provider what docs/ten-thousand-agents.md, promises of a large one.
@Suite struct FleetTests {
  /// Agents of a test, and their access tokens: with these a bin holds enough requests to tell chance from a peak.
  private static let agents = 2000
  private static let lifetime: Int64 = 300
  /// One seed: a run is not a proof, and `make fleet SEED=2` tries another.
  private static let seeds: [UInt64] = [1]

  private func report(
    _ scenario: FleetPlan.Scenario, _ client: FleetPlan.Client = .lanyard, callers: Double = 0.1, seed: UInt64
  ) -> FleetReport {
    var plan = FleetPlan(scenario, client: client, agents: Self.agents, lifetime: Self.lifetime, seed: seed)
    plan.callers = callers
    return FleetReport.of(plan)
  }

  /// Means of the last hour of a quiet day, whose machines all wake at its beginning in a morning.
  private static let quietMean = quietMeans(of: .outage)
  private static let quietMeanOfAMorning = quietMeans(of: .morning)

  private static func quietMeans(of scenario: FleetPlan.Scenario) -> [UInt64: Double] {
    Dictionary(
      uniqueKeysWithValues: seeds.map { seed in
        let plan = FleetPlan(scenario, agents: agents, lifetime: lifetime, seed: seed)
        return (seed, FleetReport.of(plan.steadyState).meanOfLastHour)
      })
  }

  /// A minute's mean, since ten seconds of so few agents show mostly chance, in parts of a quiet day.
  private func peak(_ report: FleetReport) throws -> Double {
    let means = report.plan.scenario == .morning ? Self.quietMeanOfAMorning : Self.quietMean
    return try report.peak(over: 6) / #require(means[report.plan.seed])
  }

  @Test(arguments: [FleetPlan.Scenario.outage, .gateway, .maintenance], seeds)
  func providerThatReturnsAfterAnHour_seesNoHerdAndAllAreWellInTenMinutes(
    scenario: FleetPlan.Scenario, seed: UInt64
  ) throws {
    let report = report(scenario, callers: 0, seed: seed)
    // Callers are told the end of maintenance to the second; they are not the agent's to spread.
    #expect(try peak(report) <= (scenario == .maintenance ? 4 : 2))
    if scenario != .maintenance { #expect(report.refused == 0, "the provider has room for all of it") }
    let last = try #require(report.allWellAfter)
    // What `Retry-After` asks for comes first.
    #expect(last <= 610_000)
    #expect(report.signInsTold == 0, "no person is asked to sign in")
  }

  /// A caller that asks on meets no pause over 15 s: its requests are a person's, or a program's, and not the agent's.
  /// While the provider is down each asks every 12.5 s, where a token of 300 s is renewed every 255 s: twenty times as
  /// often.
  @Test(arguments: [(0.1, 3, 8), (1, 8, 24)] as [(Double, Double, Double)], [FleetPlan.Scenario.outage, .gateway])
  func callersThatAskOn_areWellInTenMinutesToo(
    callers: (share: Double, peak: Double, peakWhileDown: Double), scenario: FleetPlan.Scenario
  ) throws {
    let report = report(scenario, callers: callers.share, seed: 1)
    #expect(try peak(report) <= callers.peak)
    #expect(try #require(report.peakWhileDown) <= callers.peakWhileDown * (try #require(Self.quietMean[1])))
    #expect(try #require(report.allWellAfter) <= 610_000)
    #expect(report.signInsTold == 0)
  }

  @Test(arguments: [FleetPlan.Scenario.morning, .keyChange, .sessionsEnded, .signOutOffline], seeds)
  func eventOfAllAgents_makesNoPeak(scenario: FleetPlan.Scenario, seed: UInt64) throws {
    #expect(try peak(report(scenario, seed: seed)) <= 2)
  }

  @Test func clientThatRetriesEachSecond_holdsTheProviderDown() {
    var plan = FleetPlan(.outage, client: .everySecond, agents: 300, lifetime: Self.lifetime)
    plan.after = 1200
    let naive = FleetReport.of(plan)
    #expect(naive.peak > 100, "hundreds of requests a second")
    #expect(naive.allWellAfter == nil)
  }

  @Test func sameSeed_givesTheSameRun() {
    let plan = FleetPlan(.outage, client: .lanyard, agents: 300, lifetime: Self.lifetime, seed: 7)
    let reports = (0..<2).map { _ in FleetReport.of(plan) }
    #expect(reports[0].rates == reports[1].rates && reports[0].total == reports[1].total)
  }
}
