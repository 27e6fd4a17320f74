internal import AgentCore
internal import AgentModel

/// How a request to the provider ends.
public enum ProviderResult: UInt8, Sendable {
  case served
  /// No connection.
  case refused
  /// 503.
  case busy
  /// 429.
  case throttled
  /// 503 with a `Retry-After`: the end of the maintenance.
  case maintenance
  /// The connection stands and no answer comes.
  case silent
  /// 400 with `invalid_grant`.
  case invalidGrant
}

/// One provider: it serves so many requests a second, keeps so many waiting, and refuses the others.
struct SimulatedProvider {
  /// What it counts. A figure of a bin is the number of requests that arrived in it.
  enum Endpoint: Int, CaseIterable { case token, keys, documents, revocation, signIn }

  let plan: FleetPlan
  /// Milliseconds for one request.
  private let cost: Double
  /// When it is done with all that it took.
  private var busyUntil = 0.0
  private(set) var arrivals: [[Int32]]
  private(set) var refused = 0
  /// Of the signing key.
  var keyNumber = 0

  init(_ plan: FleetPlan) {
    self.plan = plan
    cost = 1000 / (plan.expectedRate * plan.headroom)
    let bins = Int(plan.end / FleetPlan.bin) + 1
    arrivals = Array(repeating: Array(repeating: 0, count: bins), count: Endpoint.allCases.count)
  }

  func isDown(at now: Int64) -> Bool {
    plan.isOutage && plan.scenario != .policyOutage && now >= FleetPlan.beginning * 1000 && now < plan.eventEnds * 1000
  }

  /// A request arrives. Returns how it ends, and when.
  mutating func take(_ endpoint: Endpoint, at now: Int64) -> (ProviderResult, at: Int64) {
    let bin = Int(now / (FleetPlan.bin * 1000))
    if bin < arrivals[endpoint.rawValue].count { arrivals[endpoint.rawValue][bin] += 1 }
    let near = now + 50
    if isDown(at: now) {
      switch plan.scenario {
      case .gateway: return (.busy, near)
      case .maintenance: return (.maintenance, near)
      default: return (.refused, near)
      }
    }
    busyUntil = max(busyUntil, Double(now))
    let wait = busyUntil - Double(now)
    guard wait < Double(plan.longestWait * 1000) else {
      // The handshake of a refusal takes time, too. Beyond five times the longest wait the kernel drops connections.
      if wait < Double(plan.longestWait * 5000) { busyUntil += cost * plan.costOfRefusal }
      refused += 1
      return (plan.overload, plan.overload == .silent ? now + 30_000 : near)
    }
    busyUntil += cost
    return (.served, Int64(busyUntil) + 50)
  }

  /// The failure that an agent sees, as its classifier takes it.
  func failure(_ result: ProviderResult, at now: Int64) -> ExchangeFailure? {
    switch result {
    case .served: return nil
    case .refused: return .offline(.refused)
    case .busy: return FailureClassifier.classify(TokenEndpointRefusal(status: 503))
    case .throttled: return FailureClassifier.classify(TokenEndpointRefusal(status: 429))
    case .maintenance:
      let left = Milliseconds(max(plan.eventEnds * 1000 - now, 1000))
      return FailureClassifier.classify(TokenEndpointRefusal(status: 503, retryAfter: left))
    case .silent: return .unknownOutcome(ExchangeFailure.timedOut)
    case .invalidGrant: return FailureClassifier.classify(TokenEndpointRefusal(status: 400, error: "invalid_grant"))
    }
  }
}
