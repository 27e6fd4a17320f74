package import AgentCore
package import AgentModel
package import AgentPermissions
package import AgentPorts
internal import AgentRecords
package import AgentSessions
package import AgentStore
internal import JSONRPC

/// Decides what an account may do (docs/offline.md, Decisions).
package struct PolicyDecisionPoint: Sendable {
  let accounts: AccountDirectory
  let policyCache: PolicyCache
  let grants: CallerGrantTable
  let approvals: RequestApprovals
  /// Where the accounts' requests go, for one that is sent without a hop to an actor.
  let routes: RequestRoutes
  let audit: AuditWriter
  let clock: any AgentClock
  let entropy: any Entropy

  package init(
    accounts: AccountDirectory, policyCache: PolicyCache, grants: CallerGrantTable, approvals: RequestApprovals,
    routes: RequestRoutes, audit: AuditWriter,
    clock: any AgentClock, entropy: any Entropy
  ) {
    self.accounts = accounts
    self.policyCache = policyCache
    self.grants = grants
    self.approvals = approvals
    self.routes = routes
    self.audit = audit
    self.clock = clock
    self.entropy = entropy
  }

  /// Makes several decisions at one moment, from the same facts. `limit`: the only scopes that count for the caller.
  /// `isUse`: what is allowed is done now, so that it takes a use of its budget; else budgets don't count.
  package func decide(
    _ selector: AccountSelector, _ capabilities: [String], context: PolicyContext = PolicyContext(),
    waitSeconds: Int = 0, within limit: Set<String>? = nil, isUse: Bool = true
  ) async throws(AgentFailure) -> (AccountID, [RecordedDecision]) {
    let account = try await accounts.actor(selector)
    let grant = Caller.grant
    if waitSeconds > 0 {
      let (found, policy) = try await facts(of: account, within: limit, confirmedFor: grant)
      let denials = capabilities.map { PolicyEngine.decide($0, context: context, facts: found.facts, under: policy) }
      if let question = ProviderQuestion.joined(denials.compactMap(\.question)) {
        try await account.confirm(question, waitSeconds: waitSeconds)
      }
    }
    for _ in 0..<Self.mostTries {
      let (found, policy) = try await facts(
        of: account, within: limit, confirmedFor: grant, counting: isUse ? capabilities : [])
      var facts = found.facts
      var decisions = capabilities.map { capability in
        let decision = PolicyEngine.decide(capability, context: context, facts: facts, under: policy)
        // One that is asked for twice takes two uses.
        if decision.effect != .deny { facts.budgets[capability]?.take() }
        return recorded(decision, found)
      }
      // What a person confirmed counts for one grant alone.
      let isForAll = context == PolicyContext() && limit == nil && found.facts.confirmations.isEmpty
      var offers = isForAll ? decisions.map { offer($0, found) } : decisions.map { _ in nil }
      let trial = shadowEntries(decisions, context: context, found)
      if !trial.isEmpty { offers = offers.map { _ in nil } }
      // Record the audit entries before the answer, so that no client acts on an unrecorded decision. One that lost to
      // a sign-out or to another policy is made again: in the log it would stand after what it did not know.
      let ids = try await audit.record(
        decisions.map(entry) + trial, offering: offers + trial.map { _ in nil },
        spending: isUse ? uses(decisions.map(\.decision), found, policy) : []
      ) { [policyCache] vault in
        vault.directory.profiles[found.account]?.epoch == found.epoch
          && policyCache.policy(of: found.provider) == policy
      }
      guard let ids else { continue }
      for index in decisions.indices { decisions[index].id = ids[index] }
      account.dependencies.environment.figures.decided(decisions.map(\.decision))
      if waitSeconds == 0, let question = ProviderQuestion.joined(decisions.compactMap(\.decision.question)) {
        try await account.confirm(question, waitSeconds: 0)
      }
      return (found.account, decisions)
    }
    throw .overloaded("decisions about an account that keeps changing")
  }

  /// `grant`: confirmations for this grant count. `counting`: the budgets of these capabilities count.
  func facts(
    of account: Account, within limit: Set<String>?, confirmedFor grant: String?, counting capabilities: [String] = []
  ) async throws(AgentFailure) -> (AccountFacts, PolicyEngine.Policy) {
    var found = try await account.authorizationFacts()
    if let limit { found.facts.snapshot?.scopes.formIntersection(limit) }
    found.facts.confirmations = account.dependencies.stepUps.confirmed(found.account, for: grant)
    let policy = policyCache.policy(of: found.provider)
    let id = found.account
    let limited = capabilities.filter { policy.budget(of: $0) != nil }
    if !limited.isEmpty {
      found.facts.budgets = try await account.dependencies.vault.read { vault throws(AgentFailure) in
        var windows: [String: BudgetWindow] = [:]
        for capability in limited { windows[capability] = try vault.budgets.window(of: capability, id) }
        return windows
      }
    }
    return (found, policy)
  }

  /// The uses that the allowed ones of these decisions take.
  func uses(_ decisions: [Decision], _ about: AccountFacts, _ policy: PolicyEngine.Policy) -> [BudgetUse] {
    decisions.compactMap { decision in
      guard decision.effect != .deny, let perHour = policy.budget(of: decision.capability) else { return nil }
      return BudgetUse(account: about.account, capability: decision.capability, perHour: perHour)
    }
  }

  /// Each further try is after a sign-in, a sign-out or a change of the policy, or after another caller's last use.
  static let mostTries = 100

  func entry(_ recorded: RecordedDecision) -> AuditEntry { entry(recorded, as: .decision, []) }

  func entry(_ recorded: RecordedDecision, as event: AuditEntry.Event, _ facts: [AuditEntry.Fact]) -> AuditEntry {
    let decision = recorded.decision
    var entry = AuditEntry(
      at: clock.wall(), event: event, outcome: decision.effect.rawValue, account: recorded.account,
      client: Caller.client,
      facts: facts + [
        .decision(recorded.id), .capability(decision.capability), .reason(decision.reason.rawValue),
        .policy(decision.policyName), .policyVersion(decision.policyVersion),
        .snapshotVersion(Int64(clamping: decision.snapshotVersion)),
      ])
    entry.isBatched = decision.audit == .batched
    return entry
  }

  private func offer(_ recorded: RecordedDecision, _ found: AccountFacts) -> DecisionCache.Offer {
    DecisionCache.Offer(
      decision: recorded, client: Caller.client, ticket: found.ticket, decidedAt: found.readAt, wall: clock.wall())
  }

  /// The decision under the given assumptions, without any effect.
  package func explain(
    _ selector: AccountSelector, _ capability: String, at instant: Timestamp?, assuming assumption: PolicyAssumption?,
    within limit: Set<String>? = nil
  ) async throws(AgentFailure) -> RecordedDecision {
    let account = try await accounts.actor(selector)
    var (found, policy) = try await facts(
      of: account, within: limit, confirmedFor: Caller.grant, counting: [capability])
    let later = instant.map { $0 - found.time.now } ?? .zero
    if case .document(let document) = policy, let left = policyCache.sourceTimeLeft(for: found.provider), later >= left
    {
      policy = .unreadable(name: document.name)
    }
    found.facts.pass(later)
    if let assumption { found.facts.assume(assumption) }
    found.time.now = (found.time.now + later).writable
    if let clock = assumption?.clock { found.time.clock = clock }
    return recorded(PolicyEngine.decide(capability, facts: found.facts, under: policy), found, later: later)
  }

  func recorded(
    _ decision: Decision, _ about: AccountFacts, later: Milliseconds = .zero
  ) -> RecordedDecision {
    var decision = decision
    // Only time passes, and the bundle that the decision is from counts no more.
    if decision.effect != .deny, let left = policyCache.sourceTimeLeft(for: about.provider) {
      decision.validFor = min(decision.validFor ?? left, max(.zero, left - later))
    }
    return RecordedDecision(
      id: "dec_" + Base32.encode(entropy.bytes(16)), account: about.account, decision: decision,
      validUntil: decision.validFor.map { (about.time.now + $0).writable }, now: about.time.now,
      basis: about.timeBasis, clock: about.time.clock)
  }
}

extension AccountFacts {
  fileprivate var timeBasis: RecordedDecision.TimeBasis {
    if time.serverTimeOffset != nil { return .server }
    return facts.confirmationAge == nil ? .wall : .boot
  }
}

extension PolicyEngine.Policy {
  /// The uses that an account has of a capability in an hour; nil for any number.
  fileprivate func budget(of capability: String) -> Int64? {
    guard case .document(let document) = self else { return nil }
    return document.capabilities[capability]?.budgetPerHour
  }
}

extension Timestamp {
  /// The nearest moment that the contract's instants can name: their years have four digits.
  fileprivate var writable: Timestamp {
    min(max(self, Timestamp(year: 0, month: 1, day: 1)), Timestamp(year: 10_000, month: 1, day: 1) + Milliseconds(-1))
  }
}

extension PolicyFacts {
  /// Ages the facts by `span`, as if nothing happened until then. A negative span makes ages smaller, but not negative,
  /// and changes nothing else.
  fileprivate mutating func pass(_ span: Milliseconds) {
    func aged(_ age: Milliseconds) -> Milliseconds { max(.zero, age + span) }
    confirmationAge = confirmationAge.map(aged)
    if let age = snapshot?.age { snapshot?.age = aged(age) }
    stepUpAges = stepUpAges.mapValues(aged)
    confirmations = confirmations.mapValues(aged)
    for capability in budgets.keys { budgets[capability]?.pass(span) }
    stepUpsLeft = stepUpsLeft.mapValues { $0 - span }
    if case .unexpired(let remaining?) = token {
      token = remaining > span ? .unexpired(remaining: remaining - span) : .expired
    }
  }

  fileprivate mutating func assume(_ assumption: PolicyAssumption) {
    if let online = assumption.online {
      isOnline = online
      // Being online is a confirmation now, and a token that it goes with.
      if online {
        confirmationAge = .zero
        if case .unexpired = token {} else { token = .unexpired(remaining: nil) }
      }
    }
    if let state = assumption.state {
      self.state = State(rawValue: state.rawValue) ?? self.state
      endReason = nil
    }
    if let isThere = assumption.stepUp { assumeStepUp(isThere ? .zero : nil) }
    if let age = assumption.stepUpAge { assumeStepUp(age) }
    if let clock = assumption.clock { self.clock = clock }
    switch assumption.freshness {
    case .fresh?, .stale?: if case .unexpired = token {} else { token = .unexpired(remaining: nil) }
    case .expired?: token = .expired
    case TokenMachine.Freshness.none?: token = .none
    case nil: break
    }
    if let age = assumption.snapshotAge { snapshot?.age = age }
    if let age = assumption.lastOnlineAuthAge { confirmationAge = age }
  }

  /// For every `StepUpMethod`; nil assumes no step-up.
  private mutating func assumeStepUp(_ age: Milliseconds?) {
    stepUpAges = age.map { age in Dictionary(uniqueKeysWithValues: StepUpMethod.allCases.map { ($0, age) }) } ?? [:]
    stepUpsLeft = [:]
    confirmations = [:]
  }
}
