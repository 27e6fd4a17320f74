package import AgentCore
package import AgentModel

/// One `TokenMachine` driven by a walk or a test: a clock that is advanced, and the effects that the machine returned.
package struct Grant {
  package typealias Machine = TokenMachine
  package var machine: Machine
  package var now = BootInstant(milliseconds: 1_000_000)
  private var ids: Machine.WaiterID = 0
  private var serials: UInt64 = 0
  /// All effects so far.
  package var effects: [Machine.Effect] = []

  package init(
    _ health: Machine.Health = .ok, reuse: ProviderConfiguration.RefreshRule.Reuse = .strict, grace: Int64 = 0,
    onUnknownOutcome: ProviderConfiguration.RefreshRule.OnUnknownOutcome = .reauthenticate
  ) {
    machine = Machine(health: health, rule: Self.rule(reuse, grace: grace, onUnknownOutcome))
  }

  package static func rule(
    _ reuse: ProviderConfiguration.RefreshRule.Reuse, grace: Int64 = 0,
    _ onUnknownOutcome: ProviderConfiguration.RefreshRule.OnUnknownOutcome = .reauthenticate
  ) -> ProviderConfiguration.RefreshRule {
    var rule = ProviderConfiguration.RefreshRule()
    rule.reuse = reuse
    rule.graceSeconds = grace
    rule.onUnknownOutcome = onUnknownOutcome
    return rule
  }

  // MARK: events

  package mutating func advance(_ seconds: Int64) { now = now + .seconds(seconds) }

  /// A caller asks for a token; returns the waiter's id and the effects.
  @discardableResult
  package mutating func wants(
    _ demand: Machine.Demand = .usable(minimumLifetime: .seconds(60)), _ key: TokenKey = .standard
  ) -> (id: Machine.WaiterID, effects: [Machine.Effect]) {
    ids += 1
    return (ids, noted(machine.wanted(by: ids, key: key, demand: demand, at: now)))
  }

  /// The exchange in flight brings a token.
  @discardableResult
  package mutating func succeeds(lifetime: Int64 = 300, of attempt: UInt64? = nil) -> [Machine.Effect] {
    let number = attempt ?? machine.exchange?.number ?? 0
    return noted(machine.exchangeSucceeded(attempt: number, token: token(lifetime: lifetime), at: now))
  }

  /// The exchange in flight fails.
  @discardableResult
  package mutating func fails(
    _ failure: ExchangeFailure, of attempt: UInt64? = nil, jitter: Double = 0.5
  ) -> [Machine.Effect] {
    let number = attempt ?? machine.exchange?.number ?? 0
    return noted(machine.exchangeFailed(attempt: number, failure, at: now, jitter: jitter))
  }

  /// The renewal timer fires.
  @discardableResult
  package mutating func renews() -> [Machine.Effect] { noted(machine.renew(at: now)) }

  package mutating func noted(_ new: [Machine.Effect]) -> [Machine.Effect] {
    let all = machine.tell(at: now) + new  // in the order in which the agent performs them
    effects += all
    return all
  }

  /// A token issued now, with the next serial.
  package mutating func token(lifetime: Int64 = 300) -> Machine.TokenFacts {
    serials += 1
    let lifetime = Milliseconds.seconds(lifetime)
    let lead = LeadTime.of(lifetime: lifetime)
    return Machine.TokenFacts(
      serial: serials, lifetime: lifetime, refreshAt: now + (lifetime - lead), expiresAt: now + lifetime,
      fingerprint: "fp\(serials)")
  }

  /// A grant that holds a token of five minutes.
  package static func fresh(
    reuse: ProviderConfiguration.RefreshRule.Reuse = .strict, grace: Int64 = 0,
    onUnknownOutcome: ProviderConfiguration.RefreshRule.OnUnknownOutcome = .reauthenticate, lifetime: Int64 = 300
  ) -> Grant {
    var grant = Grant(reuse: reuse, grace: grace, onUnknownOutcome: onUnknownOutcome)
    _ = grant.noted(grant.machine.adopt(grant.token(lifetime: lifetime), for: .standard))
    grant.effects = []
    return grant
  }
}

extension [TokenMachine.Effect] {
  /// The exchanges among the effects.
  package var exchanges: [TokenMachine.Attempt] {
    compactMap { if case .exchange(let attempt) = $0 { attempt } else { nil } }
  }

  /// The waiters that are answered, with the serial of their token.
  package var answers: [TokenMachine.WaiterID: UInt64] {
    reduce(into: [:]) { if case .answer(let id, let serial, _) = $1 { $0[id] = serial } }
  }

  package var refusals: [TokenMachine.WaiterID: TokenMachine.Refusal] {
    reduce(into: [:]) { if case .refuse(let id, let refusal) = $1 { $0[id] = refusal } }
  }

  package var tellsPerson: [String] { compactMap { if case .sessionExpired(let reason) = $0 { reason } else { nil } } }
}

extension [TokenMachine.Effect] {
  /// The states that are told, in order.
  package var states: [AccountState] {
    compactMap { if case .stateChanged(let state, _) = $0 { state } else { nil } }
  }
}

extension TokenKey {
  package static let mail = TokenKey(resource: "https://mail.example")
  package static let files = TokenKey(resource: "https://files.example")
}
