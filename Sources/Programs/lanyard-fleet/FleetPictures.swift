import FleetSimulation
import Foundation

/// The pictures of docs/ten-thousand-agents.md.
struct FleetPictures {
  private let options: FleetCommand.Options
  private let lifetime: Int64

  init(_ options: FleetCommand.Options, lifetime: Int64) {
    self.options = options
    self.lifetime = lifetime
  }

  func write(into directory: String) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    try write(
      "outage", into: directory, title: "The provider is down for an hour",
      [
        line("Lanyard", "a", report(.outage)),
        line("doubling pauses without jitter", "c", report(.outage, .exponential)),
        line("again each second", "b", report(.outage, .everySecond)),
      ], to: FleetPlan.outage + 1800)
    try write(
      "morning", into: directory, title: "All machines wake within five minutes",
      [
        line("Lanyard", "a", report(.morning)),
        line("doubling pauses without jitter", "c", report(.morning, .exponential)),
      ], to: 3600)
    try write(
      "signout", into: directory, title: "A tool signs out all agents within a minute",
      [
        line("lanyard logout --all --offline", "a", report(.signOutOffline)),
        line("lanyard logout --all", "b", report(.signOut)),
      ], to: 3600)
  }

  private func line(_ name: String, _ style: String, _ report: FleetReport) -> FleetChart.Line {
    FleetChart.Line(name, style: style, report, agents: options.agents)
  }

  private func report(_ scenario: FleetPlan.Scenario, _ client: FleetPlan.Client = .lanyard) -> FleetReport {
    var plan = FleetPlan(
      scenario, client: client, agents: options.agents, lifetime: lifetime, seed: options.seed,
      callers: Double(options.callers) / 100)
    if client == .everySecond { plan = plan.tenth }
    return FleetReport.of(plan)
  }

  private func write(
    _ name: String, into directory: String, title: String, _ lines: [FleetChart.Line], to end: Int64
  ) throws {
    let chart = FleetChart(
      title: title,
      subtitle: "\(options.agents) agents, access tokens of \(lifetime) s, seed \(options.seed)", lines: lines,
      range: FleetPlan.beginning - 600..<FleetPlan.beginning + end)
    try chart.svg.write(toFile: directory + "/" + name + ".svg", atomically: true, encoding: .utf8)
  }
}
