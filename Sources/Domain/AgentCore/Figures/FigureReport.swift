public import AgentModel

/// A counter or a gauge with its values, as `metrics.read` tells it.
public struct Figure: Hashable, Sendable {
  public enum Unit: String, Hashable, Sendable, CaseIterable { case bytes, seconds }

  /// A value and its labels, in the order of their names.
  public struct Sample: Hashable, Sendable {
    public var labels: [Label]
    public var value: Int64
  }

  public struct Label: Hashable, Sendable {
    public var name: String
    public var value: String
  }

  public var name: String
  /// For a person, one sentence.
  public var help: String
  public var unit: Unit?
  public var samples: [Sample]

  init(_ name: String, _ help: String, unit: Unit? = nil, _ samples: [Sample]) {
    (self.name, self.help, self.unit, self.samples) = (name, help, unit, samples)
  }

  init(_ name: String, _ help: String, unit: Unit? = nil, _ value: Int64) {
    self.init(name, help, unit: unit, [Sample(labels: [], value: value)])
  }
}

/// Histograms of one name.
public struct HistogramFigure: Hashable, Sendable {
  public struct Sample: Hashable, Sendable {
    public var labels: [Figure.Label]
    public var histogram: DurationHistogram
  }

  public var name: String
  public var help: String
  public var samples: [Sample]
}

/// The figures of one moment (docs/metrics.md): a table of every name, its meaning and its labels.
public struct FigureReport: Sendable {
  /// What is known of the agent now, beside what it counted.
  public struct Present: Sendable {
    public var now: BootInstant
    public var at: Timestamp
    public var startedAt: Timestamp
    public var connections: Int64
    /// Nil where the machine does not tell.
    public var residentBytes: Int64?
    /// Nil while it is not known.
    public var isOnline: Bool?
    public var waitingExchanges: Int64
    public var silentIssuers: Int64
    public var eventGaps: Int64
    public var tokensFromMemory: Int64
    /// Decisions that were repeated from memory.
    public var repeats: DecisionCounts
    /// Nil while the vault is locked.
    public var vault: Vault?

    public init(
      now: BootInstant, at: Timestamp, startedAt: Timestamp, connections: Int64, residentBytes: Int64?,
      isOnline: Bool?, waitingExchanges: Int64, silentIssuers: Int64, eventGaps: Int64, tokensFromMemory: Int64,
      repeats: DecisionCounts, vault: Vault?
    ) {
      self.now = now
      self.at = at
      self.startedAt = startedAt
      self.connections = connections
      self.residentBytes = residentBytes
      self.isOnline = isOnline
      self.waitingExchanges = waitingExchanges
      self.silentIssuers = silentIssuers
      self.eventGaps = eventGaps
      self.tokensFromMemory = tokensFromMemory
      self.repeats = repeats
      self.vault = vault
    }
  }

  /// What the open vault knows.
  public struct Vault: Sendable {
    public var accounts: [AccountState: Int64]
    public var pendingRevocations: Int64
    public var pendingOperations: Int64
    /// When a provider last confirmed an account that is signed in, by digest of the issuer.
    public var confirmedAt: [String: Timestamp]

    public init(
      accounts: [AccountState: Int64], pendingRevocations: Int64, pendingOperations: Int64,
      confirmedAt: [String: Timestamp] = [:]
    ) {
      self.accounts = accounts
      self.pendingRevocations = pendingRevocations
      self.pendingOperations = pendingOperations
      self.confirmedAt = confirmedAt
    }
  }

  /// When they were read.
  public let at: Timestamp
  public let isLocked: Bool
  public let counters: [Figure]
  public let gauges: [Figure]
  public let histograms: [HistogramFigure]

  public init(_ figures: Figures, _ present: Present) {
    at = present.at
    isLocked = present.vault == nil
    counters = Self.counters(figures, present)
    gauges = Self.gauges(figures, present)
    histograms = Self.histograms(figures)
  }

  private static func counters(_ figures: Figures, _ present: Present) -> [Figure] {
    var decisions = figures.decisions
    decisions.add(present.repeats)
    return [
      Figure(
        "lanyard_exchanges", "Refreshes of grants that ended, by outcome and digest of the issuer.",
        figures.issuers.sorted { $0.key < $1.key }.flatMap { digest, issuer in
          ExchangeOutcome.allCases.map { outcome in
            .init([("issuer", digest), ("outcome", outcome.rawValue)], issuer.count(of: outcome))
          }
        }),
      Figure(
        "lanyard_grant_exchanges",
        "Sign-ins and token exchanges that a token endpoint answered or failed, by kind, outcome and digest of the issuer.",
        figures.grants.map { cell, count in
          let outcome = cell.outcome == .renewed ? "granted" : cell.outcome.rawValue
          return .init([("issuer", cell.issuer), ("kind", cell.kind.rawValue), ("outcome", outcome)], count)
        }.sorted { $0.labels.map(\.value).joined(separator: " ") < $1.labels.map(\.value).joined(separator: " ") }),
      Figure("lanyard_pauses", "Pauses that began after a failed refresh.", figures.pauses),
      Figure(
        "lanyard_decisions", "Decisions of policies, by effect and by the reason that is told.",
        Decision.Effect.allCases.flatMap { effect in
          Decision.Reason.allCases.compactMap { reason in
            let count = decisions[effect, reason]
            // A rate needs the zero before the first one. Only denials have every reason.
            let isUsual = (effect == .deny) != (reason == .allowed) && effect != .readOnly
            return count > 0 || isUsual
              ? .init([("effect", effect.rawValue), ("reason", reason.rawValue)], count) : nil
          }
        }),
      Figure("lanyard_budget_refusals", "Decisions that failed at a budget.", figures.budgetRefusals),
      Figure(
        "lanyard_memory_answers", "Requests of clients that were answered from memory at once.",
        [
          .init([("kind", RequestKind.authorization.rawValue)], present.repeats.total),
          .init([("kind", RequestKind.token.rawValue)], present.tokensFromMemory),
        ]),
      Figure(
        "lanyard_request_errors", "Requests of clients that were answered by an error, by its name.",
        figures.errors.sorted { $0.key < $1.key }.map { .init([("error", $0.key)], $0.value) }),
      Figure("lanyard_event_gaps", "Times that a subscriber lost events.", present.eventGaps),
    ]
  }

  private static func gauges(_ figures: Figures, _ present: Present) -> [Figure] {
    let renewals = renewals(figures, present)
    var gauges = [
      Figure(
        "lanyard_start_time_seconds", "When the agent started, in seconds since 1970.", unit: .seconds,
        present.startedAt.milliseconds / 1000),
      Figure(
        "lanyard_read_time_seconds", "When the figures were read, in seconds since 1970.", unit: .seconds,
        present.at.milliseconds / 1000),
      Figure("lanyard_locked", "1 while the vault is locked.", present.vault == nil ? 1 : 0),
      Figure("lanyard_connections", "Clients that are connected.", present.connections),
      Figure("lanyard_waiting_exchanges", "Refreshes that wait for their turn.", present.waitingExchanges),
      Figure("lanyard_silent_issuers", "Issuers that do not answer in time.", present.silentIssuers),
      Figure(
        "lanyard_last_refresh_age_seconds", "Time since the last good refresh, by digest of the issuer.",
        unit: .seconds, renewals.map { .init([("issuer", $0)], $1.count / 1000) }),
      Figure(
        "lanyard_last_refresh_time_seconds",
        "When the last good refresh was, in seconds since 1970, by digest of the issuer.",
        unit: .seconds, renewals.map { .init([("issuer", $0)], (present.at.milliseconds - $1.count) / 1000) }),
    ]
    if let bytes = present.residentBytes {
      gauges.append(
        Figure(
          "lanyard_resident_memory_bytes", "Memory of the agent's process that is in RAM.", unit: .bytes, bytes))
    }
    if let isOnline = present.isOnline {
      gauges.append(Figure("lanyard_online", "1 if the machine has a network, 0 if it has none.", isOnline ? 1 : 0))
    }
    guard let vault = present.vault else { return gauges }
    return gauges + [
      Figure(
        "lanyard_accounts", "Accounts by state.",
        AccountState.allCases.map { .init([("state", $0.rawValue)], vault.accounts[$0] ?? 0) }),
      Figure(
        "lanyard_pending_revocations", "Tokens of signed-out accounts that are still to be revoked.",
        vault.pendingRevocations),
      Figure("lanyard_pending_operations", "Operations that are still to be delivered.", vault.pendingOperations),
    ]
  }

  /// The time since the last good refresh, by digest of the issuer: since the agent's start, or before it as the open vault
  /// knows. At most as many as `Figures` counts.
  private static func renewals(_ figures: Figures, _ present: Present) -> [(String, Milliseconds)] {
    var ages = figures.issuers.compactMapValues { $0.renewedAt.map { max(.zero, present.now - $0) } }
    for (digest, moment) in (present.vault?.confirmedAt ?? [:]).sorted(by: { $0.key < $1.key }) {
      let isCounted = ages[digest] != nil || ages.count < Figures.mostIssuers
      let (name, age) = (isCounted ? digest : Figures.otherIssuer, max(.zero, present.at - moment))
      ages[name] = min(ages[name] ?? age, age)
    }
    return ages.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private static func histograms(_ figures: Figures) -> [HistogramFigure] {
    [
      HistogramFigure(
        name: "lanyard_exchange_duration_seconds",
        help: "Time from the begin of a refresh's request to its answer or failure.",
        samples: [.init(labels: [], histogram: figures.exchanges)]),
      HistogramFigure(
        name: "lanyard_exchange_wait_seconds", help: "Time that refreshes waited for their turn.",
        samples: [.init(labels: [], histogram: figures.queue)]),
      HistogramFigure(
        name: "lanyard_request_duration_seconds",
        help: "Time that requests of clients took, but for those answered from memory.",
        samples: RequestKind.allCases.sorted { $0.rawValue < $1.rawValue }.map { kind in
          .init(
            labels: [.init(name: "kind", value: kind.rawValue)],
            histogram: figures.requests[kind] ?? DurationHistogram())
        }),
    ]
  }
}

extension Figure.Sample {
  fileprivate init(_ labels: [(String, String)], _ value: Int64) {
    self.init(labels: labels.map { Figure.Label(name: $0.0, value: $0.1) }, value: value)
  }
}
