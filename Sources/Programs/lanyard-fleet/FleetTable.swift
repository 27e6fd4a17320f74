import FleetSimulation
import Foundation

/// One row a scenario and client, as Markdown.
struct FleetTable {
  static let head = """
    | lifetime | scenario | client | steady, a second | peak | while down | all well after | 99 of 100 | requests | refused |
    |---|---|---|---|---|---|---|---|---|---|
    """

  private let options: FleetCommand.Options
  private let lifetime: Int64

  init(_ options: FleetCommand.Options, lifetime: Int64) {
    self.options = options
    self.lifetime = lifetime
  }

  /// Requests a second of a quiet day, on which so many sleep as in this scenario.
  private func quietDay(_ scenario: FleetPlan.Scenario) -> Double {
    let plan = FleetPlan(scenario, agents: options.agents, lifetime: lifetime, seed: options.seed)
    return FleetReport.of(plan.steadyState).meanOfLastHour
  }

  func write() {
    var quietDays: [String: Double] = [:]
    for scenario in FleetPlan.Scenario.allCases
    where options.scenarios.isEmpty || options.scenarios.contains(scenario) {
      // Of the morning, of the policy server, and of all other scenarios.
      let kind = [.morning, .policyOutage].contains(scenario) ? scenario.rawValue : ""
      let steady = quietDays[kind] ?? quietDay(scenario)
      quietDays[kind] = steady
      for client in FleetPlan.Client.allCases where Self.isCompared(scenario, client) {
        var plan = FleetPlan(
          scenario, client: client, agents: options.agents, lifetime: lifetime, seed: options.seed,
          callers: Double(options.callers) / 100)
        if client == .everySecond { plan = plan.tenth }
        row(FleetReport.of(plan), steady: steady * Double(plan.agents) / Double(options.agents))
      }
    }
  }

  /// The naive clients do not sign out, and know no documents.
  private static func isCompared(_ scenario: FleetPlan.Scenario, _ client: FleetPlan.Client) -> Bool {
    client == .lanyard || scenario == .outage || (scenario == .morning && client == .exponential)
  }

  private func row(_ report: FleetReport, steady: Double) {
    let plan = report.plan
    let cells = [
      "\(lifetime) s", plan.scenario.rawValue, plan.client.rawValue, Self.text(steady),
      Self.text(report.peak / steady), report.peakWhileDown.map { Self.text($0 / steady) } ?? "–",
      Self.duration(report.allWellAfter), Self.duration(report.nearlyAllWellAfter), "\(report.total)",
      "\(report.refused)",
    ]
    print("| " + cells.joined(separator: " | ") + " |")
    fflush(nil)
  }

  private static func duration(_ milliseconds: Int64?) -> String {
    milliseconds.map { "\(($0 + 500) / 1000) s" } ?? "never"
  }

  private static func text(_ number: Double) -> String {
    String(format: number < 100 ? "%.2f" : "%.0f", number)
  }
}
