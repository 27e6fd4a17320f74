public import AgentModel

/// What the agent counts since its start (docs/metrics.md): counters and histograms of fixed size.
///
/// - F1: no label grows without bound. Words are of fixed lists, and issuers are at most `mostIssuers` digests; all
///   later ones count as `otherIssuer`.
/// - F2: no figure names a person, an account, a server or a token.
public struct Figures: Sendable {
  /// More than a person has, and few enough for a page of figures.
  public static let mostIssuers = 16
  /// The label of issuers beyond `mostIssuers`.
  public static let otherIssuer = "other"

  /// What is counted for one issuer.
  public struct Issuer: Hashable, Sendable {
    /// By the place of the outcome among `ExchangeOutcome.allCases`.
    fileprivate var outcomes = [Int64](repeating: 0, count: ExchangeOutcome.allCases.count)
    /// When it last renewed a grant; nil before the first.
    public fileprivate(set) var renewedAt: BootInstant?

    public func count(of outcome: ExchangeOutcome) -> Int64 {
      outcomes[ExchangeOutcome.allCases.firstIndex(of: outcome)!]
    }
  }

  /// What is counted of other exchanges than refreshes.
  public struct GrantCell: Hashable, Sendable {
    public var issuer: String
    public var kind: GrantKind
    public var outcome: ExchangeOutcome
  }

  public private(set) var issuers: [String: Issuer] = [:]
  /// Sign-ins and token exchanges that ended; none of those that never did.
  public private(set) var grants: [GrantCell: Int64] = [:]
  /// How long requests to token endpoints took.
  public private(set) var exchanges = DurationHistogram()
  /// How long exchanges waited for their turn.
  public private(set) var queue = DurationHistogram()
  /// How long requests of clients took that were not answered from memory.
  public private(set) var requests: [RequestKind: DurationHistogram] = Dictionary(
    uniqueKeysWithValues: RequestKind.allCases.map { ($0, DurationHistogram()) })
  public private(set) var decisions = DecisionCounts()
  /// Decisions that failed at a budget, among other checks.
  public private(set) var budgetRefusals: Int64 = 0
  /// Pauses that began after a failed exchange.
  public private(set) var pauses: Int64 = 0
  /// Errors that clients were answered, by their name. Names are those of the contract.
  public private(set) var errors: [String: Int64] = [:]

  public init() {}

  /// An exchange ended. `issuer`: the digest of its issuer.
  public mutating func exchangeEnded(_ outcome: ExchangeOutcome, issuer: String, at now: BootInstant) {
    let name = bounded(issuer)
    var counted = issuers[name] ?? Issuer()
    counted.outcomes[ExchangeOutcome.allCases.firstIndex(of: outcome)!] += 1
    if outcome == .renewed || outcome == .noToken { counted.renewedAt = now }
    issuers[name] = counted
  }

  /// A sign-in or a token exchange ended; `.renewed` if it brought a token.
  public mutating func grantEnded(_ kind: GrantKind, _ outcome: ExchangeOutcome, issuer: String) {
    let name = bounded(issuer)
    if issuers[name] == nil { issuers[name] = Issuer() }
    grants[GrantCell(issuer: name, kind: kind, outcome: outcome), default: 0] += 1
  }

  private func bounded(_ issuer: String) -> String {
    issuers[issuer] != nil || issuers.count < Self.mostIssuers ? issuer : Self.otherIssuer
  }

  public mutating func exchangeTook(_ duration: Milliseconds) { exchanges.record(duration) }
  public mutating func exchangeWaited(_ duration: Milliseconds) { queue.record(duration) }
  public mutating func pauseBegan() { pauses += 1 }

  /// A request of a client was answered by a handler. `error`: the name of the contract's error.
  public mutating func requestEnded(_ kind: RequestKind, after duration: Milliseconds, error: String?) {
    requests[kind]?.record(duration)
    if let error { errors[error, default: 0] += 1 }
  }

  public mutating func decided(_ decision: Decision) {
    decisions.count(DecisionCounts.Cell(decision.effect, decision.reason))
    if decision.failed.contains(where: { $0.check == .budget }) { budgetRefusals += 1 }
  }
}
