/// A fleet and what happens to it. Durations are in seconds, unless a name says otherwise.
public struct FleetPlan: Sendable {
  public enum Scenario: String, CaseIterable, Sendable {
    /// A working day: nothing happens.
    case steady
    /// The provider's machines refuse connections for an hour.
    case outage
    /// A load balancer answers 503 for an hour.
    case gateway
    /// As `gateway`, and each answer tells by `Retry-After` when the hour ends.
    case maintenance
    /// All machines were asleep, and wake within five minutes.
    case morning
    /// The provider signs with a new key, and announces it as usual.
    case keyChange
    /// As `keyChange`, and servers reject at once what the old key signed.
    case keyRevoked
    /// The provider ends all sessions.
    case sessionsEnded
    /// A tool signs out all agents within a minute, with `lanyard logout --all`.
    case signOut
    /// As `signOut`, with `--offline`.
    case signOutOffline
    /// The web server with the policy bundles refuses connections for an hour. What is counted are the requests to it.
    case policyOutage
  }

  public enum Client: String, CaseIterable, Sendable {
    /// The machines of `AgentCore`.
    case lanyard
    /// After a failure, again in a second.
    case everySecond
    /// After the nth failure in a row, again in 2ⁿ⁻¹ seconds, at most 300.
    case exponential
  }

  public var scenario: Scenario
  public var client: Client
  public var agents: Int
  public var seed: UInt64
  /// Of access tokens.
  public var lifetime: Int64
  /// Capacity of the provider, in parts of what the fleet asks in a steady state.
  public var headroom = 3.0
  /// A request that would wait longer than this in the provider's queue is refused.
  public var longestWait: Int64 = 2
  /// What it costs the provider to refuse a request, in parts of what it costs to serve one: a handshake.
  public var costOfRefusal = 0.05
  /// What the provider answers to what its queue has no room for.
  public var overload = ProviderResult.busy
  /// Share of the machines that are asleep for a while at any time.
  public var asleep = 0.15
  /// Share of the machines with a program that asks for ID tokens.
  public var identity = 0.3
  /// How often the agents ask for the policy bundle (docs/policy-bundles.md).
  public var policyInterval: Int64 = 3600
  /// Mean pause between two requests of a machine's programs, and the share of the machines: an editor that asks all the
  /// time, a person's tools, a job.
  public var programs: [(share: Double, pause: Int64)] = [(0.5, 20), (0.3, 120), (0.2, 600)]
  /// The requests that a report tells are those at the server with the policy bundles, and not at the provider.
  public let watchesPolicyServer: Bool
  /// Share of the agents with a caller that asks on while there is no token: a person at work, or a program that tries
  /// again. The programs of the others ask once after each pause of the agent.
  public var callers: Double
  /// Mean time until a person signs in again after being told.
  public var signIn: Int64 = 1200

  public init(
    _ scenario: Scenario, client: Client = .lanyard, agents: Int = 10_000, lifetime: Int64 = 900, seed: UInt64 = 1,
    callers: Double = 0.1
  ) {
    self.scenario = scenario
    self.client = client
    self.agents = agents
    self.lifetime = lifetime
    self.seed = seed
    self.callers = callers
    watchesPolicyServer = scenario == .policyOutage
  }

  /// Width of the bins in which requests are counted: long enough that chance alone makes no peaks.
  public static let bin: Int64 = 10
  /// The scenario begins then. Before it the fleet finds its steady state.
  public static let beginning: Int64 = 3600
  /// How long an outage takes.
  public static let outage: Int64 = 3600
  /// In which all wake.
  public static let morning: Int64 = 300
  /// In which a tool reaches all agents.
  public static let push: Int64 = 60

  /// The quiet day that the scenario is compared with: of as many agents that are awake.
  public var steadyState: FleetPlan {
    var plan = self
    plan.scenario = .steady
    plan.after = 5400
    if scenario == .morning { plan.asleep = 0 }
    return plan
  }

  /// A tenth of the fleet with a tenth of the provider, and a shorter run: a request a second of each agent is an event a
  /// second of each.
  public var tenth: FleetPlan {
    var plan = self
    plan.agents = max(agents / 10, 1)
    plan.after = 1800
    return plan
  }

  var isOutage: Bool { [.outage, .gateway, .maintenance, .policyOutage].contains(scenario) }
  /// From then on the provider can be expected to be asked as usual again.
  public var eventEnds: Int64 { Self.beginning + (isOutage ? Self.outage : 0) }
  /// How long the run goes on after the event.
  public var after: Int64 = 5400
  public var end: Int64 { eventEnds + after }

  /// Requests a second of a steady state, by reckoning: it sets the capacity.
  public var expectedRate: Double { Double(agents) * (1 - asleep) / (Double(lifetime) * 0.8) }
}
