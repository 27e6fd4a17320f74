/// What the provider saw in a run, and how the fleet fared.
public struct FleetReport: Sendable {
  public let plan: FleetPlan
  /// Requests by endpoint and bin.
  let arrivals: [[Int32]]
  public let policyRequests: [Int32]
  /// Agents that refused a program and have had no token since, at the end of each bin.
  public let unwell: [Int32]
  /// Milliseconds from the end of the event until the last agent was well; nil if one still is not.
  public let allWellAfter: Int64?
  /// As `allWellAfter`, for 99 of 100 of those that were unwell.
  public let nearlyAllWellAfter: Int64?
  public let refused: Int
  /// How many persons were told to sign in again.
  public let signInsTold: Int

  public static func of(_ plan: FleetPlan) -> FleetReport {
    let fleet = Fleet(plan)
    fleet.run()
    return fleet.report()
  }

  /// Requests a second at the server that the plan watches, by bin.
  public var rates: [Double] {
    let counts = plan.watchesPolicyServer ? [policyRequests] : arrivals
    return (0..<policyRequests.count - 1).map { bin in
      Double(counts.reduce(0) { $0 + $1[bin] }) / Double(FleetPlan.bin)
    }
  }

  /// The mean of the last hour.
  public var meanOfLastHour: Double {
    let last = rates.suffix(Int(3600 / FleetPlan.bin))
    return last.reduce(0, +) / Double(last.count)
  }

  /// The highest bin that begins in this range of seconds.
  public func peak(from start: Int64, to end: Int64) -> Double {
    rates[Int(start / FleetPlan.bin)..<min(rates.count, Int(end / FleetPlan.bin))].max() ?? 0
  }

  /// The highest bin while the provider is down; nil in a scenario in which it is not.
  public var peakWhileDown: Double? {
    plan.isOutage ? peak(from: FleetPlan.beginning, to: plan.eventEnds) : nil
  }

  /// The highest bin from the moment on in which the provider can answer.
  public var peak: Double { peak(from: plan.eventEnds, to: plan.end) }

  /// As `peak`, over so many bins: of a small fleet one bin shows mostly chance.
  public func peak(over bins: Int) -> Double {
    let after = Array(rates.dropFirst(Int(plan.eventEnds / FleetPlan.bin)))
    return (0...max(after.count - bins, 0)).map { after[$0..<min($0 + bins, after.count)].reduce(0, +) }.max()
      .map { $0 / Double(bins) } ?? 0
  }

  /// Requests from the beginning of the scenario on.
  public var total: Int {
    Int((rates.dropFirst(Int(FleetPlan.beginning / FleetPlan.bin)).reduce(0, +) * Double(FleetPlan.bin)).rounded())
  }
}
