import FleetSimulation
import Foundation

/// The command line: runs the scenarios, prints a table, and writes the pictures.
enum FleetCommand {
  private static let usage = """
    lanyard-fleet: what a fleet of agents does to its provider

    Usage: lanyard-fleet [--agents N] [--seed N] [--lifetime SECONDS]... [--callers PERCENT]
                         [--scenario NAME]... [--out DIRECTORY]

      --agents N          from 1 to 1000000 (10000)
      --seed N            one seed, one run (1)
      --lifetime SECONDS  of access tokens, from 60 to 86400 (300, 900 and 3600)
      --callers PERCENT   of agents with a caller that asks on while there is no token (10)
      --scenario NAME     \(FleetPlan.Scenario.allCases.map(\.rawValue).joined(separator: ", ")) (all)
      --out DIRECTORY     write outage.svg, morning.svg and signout.svg there

    """

  /// EX_USAGE and EX_CANTCREAT of sysexits.h.
  private static let (wrongUsage, cannotCreate): (Int32, Int32) = (64, 73)

  struct Options {
    var agents = 10_000
    var seed: UInt64 = 1
    var lifetimes: [Int64] = []
    var callers = 10
    var scenarios: [FleetPlan.Scenario] = []
    var out: String?
  }

  static func run(_ arguments: [String]) -> Int32 {
    if arguments == ["--help"] || arguments == ["-h"] {
      print(usage, terminator: "")
      return 0
    }
    guard let options = options(arguments) else {
      FileHandle.standardError.write(Data(usage.utf8))
      return wrongUsage
    }
    let lifetimes = options.lifetimes.isEmpty ? [300, 900, 3600] : options.lifetimes
    print(FleetTable.head)
    for lifetime in lifetimes {
      FleetTable(options, lifetime: lifetime).write()
    }
    guard let out = options.out else { return 0 }
    do {
      try FleetPictures(options, lifetime: options.lifetimes.first ?? 900).write(into: out)
      return 0
    } catch {
      FileHandle.standardError.write(
        Data("lanyard-fleet: can't write into \(out): \(error.localizedDescription)\n".utf8))
      return cannotCreate
    }
  }

  private static func options(_ arguments: [String]) -> Options? {
    var options = Options()
    var rest = arguments[...]
    while let option = rest.popFirst() {
      guard let value = rest.popFirst() else { return nil }
      switch option {
      case "--agents":
        guard let agents = Int(value), (1...1_000_000).contains(agents) else { return nil }
        options.agents = agents
      case "--seed":
        guard let seed = UInt64(value) else { return nil }
        options.seed = seed
      case "--lifetime":
        guard let lifetime = Int64(value), (60...86_400).contains(lifetime) else { return nil }
        options.lifetimes.append(lifetime)
      case "--callers":
        guard let percent = Int(value), (0...100).contains(percent) else { return nil }
        options.callers = percent
      case "--scenario":
        guard let scenario = FleetPlan.Scenario(rawValue: value) else { return nil }
        options.scenarios.append(scenario)
      case "--out": options.out = value
      default: return nil
      }
    }
    return options
  }
}
