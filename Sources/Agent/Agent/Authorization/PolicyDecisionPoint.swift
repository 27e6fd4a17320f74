internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import JSONRPC

/// Answers what an account may do (docs/offline.md, Decisions).
struct PolicyDecisionPoint: Sendable {
  let accounts: AccountDirectory
  let shelf: PolicyCache
  let audit: AuditWriter
  let clock: any AgentClock
  let entropy: any Entropy

  /// Several decisions at one moment: all from the same facts.
  func decide(
    _ selector: AccountSelector, _ capabilities: [String], context: PolicyContext = PolicyContext()
  ) async throws(AgentFailure) -> (AccountID, [WireDecision]) {
    let found = try await accounts.actor(selector).authorizationFacts()
    let policy = shelf.policy(of: found.provider)
    let decisions = capabilities.map { capability in
      wire(PolicyEngine.decide(capability, context: context, facts: found.facts, under: policy), found)
    }
    // Nobody acts on a decision that is not written down.
    try await audit.record(decisions.map(entry))
    return (found.account, decisions)
  }

  private func entry(_ decision: WireDecision) -> AuditEntry {
    AuditEntry(
      at: clock.wall(), event: .decision, outcome: decision.effect.rawValue, account: decision.account,
      client: Caller.client,
      facts: [
        .decision(decision.decisionId), .capability(decision.capability), .reason(decision.reason.rawValue),
        .policy(decision.policy.name), .policyVersion(Int64(decision.policy.version)),
        .snapshotVersion(Int64(decision.snapshotVersion)),
      ])
  }

  /// What would be said then, without any effect.
  func explain(
    _ selector: AccountSelector, _ capability: String, at instant: Timestamp?, assuming assumption: WireAssumption?
  ) async throws(AgentFailure) -> WireDecision {
    var found = try await accounts.actor(selector).authorizationFacts()
    let later = instant.map { $0 - clock.wall() } ?? .zero
    found.facts.pass(later)
    if let assumption { found.facts.assume(assumption) }
    found.time.now = (found.time.now + later).writable
    if let clock = assumption?.clock { found.time.clock = clock == .suspect ? .suspect : .trusted }
    let policy = shelf.policy(of: found.provider)
    return wire(PolicyEngine.decide(capability, facts: found.facts, under: policy), found, later: later)
  }

  private func wire(_ decision: Decision, _ about: AccountFacts, later: Milliseconds = .zero) -> WireDecision {
    WireDecision(
      decisionId: "dec_" + Base32.encode(entropy.bytes(16)), effect: WireEffect(decision.effect),
      capability: decision.capability, reason: WireDecisionReason(decision.reason),
      failed: decision.failed.map(WireFailedCheck.init), obligations: decision.obligations,
      remedies: decision.remedies.map(WireRemedy.init),
      // Clients compare it with the wall clock.
      validUntil: decision.validFor.map { (clock.wall() + later + $0).writable },
      policy: WirePolicyUse(name: decision.policyName, version: Int(decision.policyVersion)),
      snapshotVersion: Int(clamping: decision.snapshotVersion),
      time: WireDecisionTime(
        now: about.time.now, basis: WireDecisionBasis(about), clock: WireClockTrust(about.time.clock)),
      account: about.account)
  }
}

extension Timestamp {
  /// The nearest moment that the contract's instants can name: their years have four digits.
  fileprivate var writable: Timestamp {
    min(max(self, Timestamp(year: 0, month: 1, day: 1)), Timestamp(year: 10_000, month: 1, day: 1) + Milliseconds(-1))
  }
}

extension PolicyFacts {
  /// The same person, so much later, if nothing happens until then. A moment that is past is answered as now is, but
  /// for what was younger then.
  fileprivate mutating func pass(_ span: Milliseconds) {
    func aged(_ age: Milliseconds) -> Milliseconds { max(.zero, age + span) }
    confirmationAge = confirmationAge.map(aged)
    if let age = snapshot?.age { snapshot?.age = aged(age) }
    stepUpAges = stepUpAges.mapValues(aged)
    stepUpsLeft = stepUpsLeft.mapValues { $0 - span }
    if case .unexpired(let remaining?) = token {
      token = remaining > span ? .unexpired(remaining: remaining - span) : .expired
    }
  }

  fileprivate mutating func assume(_ assumption: WireAssumption) {
    if let online = assumption.online { isOnline = online }
    if let state = assumption.state { self.state = State(rawValue: state.rawValue) ?? self.state }
    if let isThere = assumption.stepUp { assumeStepUp(isThere ? .zero : nil) }
    if let age = assumption.stepUpAgeSeconds { assumeStepUp(.seconds(Int64(age))) }
    if let clock = assumption.clock { self.clock = clock == .suspect ? .suspect : .trusted }
    switch assumption.freshness {
    case .fresh?, .stale?: if case .unexpired = token {} else { token = .unexpired(remaining: nil) }
    case .expired?: token = .expired
    case WireTokenFreshness.none?: token = .none
    case nil: break
    }
    if let age = assumption.snapshotAgeSeconds { snapshot?.age = .seconds(Int64(age)) }
    if let age = assumption.lastOnlineAuthAgeSeconds { confirmationAge = .seconds(Int64(age)) }
  }

  /// By whichever method is asked for; nil: none.
  private mutating func assumeStepUp(_ age: Milliseconds?) {
    stepUpAges = age.map { age in Dictionary(uniqueKeysWithValues: StepUpMethod.allCases.map { ($0, age) }) } ?? [:]
    stepUpsLeft = [:]
  }
}
