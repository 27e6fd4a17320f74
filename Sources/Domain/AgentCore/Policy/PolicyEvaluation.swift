internal import AgentModel

/// One decision in progress: runs the checks in the documented order and collects failures.
/// `PolicyEvaluation+Decision.swift` turns them into the decision.
struct PolicyEvaluation {
  let capability: String
  let facts: PolicyFacts
  let context: PolicyContext
  /// Nil if the policy does not define the capability.
  let rule: Capability?
  private(set) var failed: [Decision.Failure] = []
  /// The shortest remaining validity of the checks that passed; nil if none of them expires.
  private(set) var holdsFor: Milliseconds?

  init(_ capability: String, facts: PolicyFacts, context: PolicyContext, rule: Capability?) {
    self.capability = capability
    self.facts = facts
    self.context = context
    self.rule = rule
  }

  mutating func run() {
    guard let rule else {
      failed.append(Decision.Failure(.capability, .unknownCapability))
      return checkState()
    }
    checkState()
    checkForbids(rule)
    checkClock(rule)
    checkSnapshot(rule)
    checkRights(rule.requires)
    checkProvider(rule)
    checkStepUp(rule)
    checkSensitivity(rule)
    checkBudget(rule)
  }

  /// The policy of this name can't be read: denies, and still reports the account's state.
  mutating func run(unreadable policy: String) {
    fail(.policy, .policyError, ["policy": .word(policy)])
    checkState()
  }

  // MARK: the checks

  private mutating func checkState() {
    switch facts.state {
    case .locked: fail(.state, .accountLocked)
    case .signedOut: fail(.state, .signedOut)
    case .reauthenticationRequired:
      fail(.state, .reauthenticationRequired, facts.endReason.map { ["because": Decision.Fact.word($0)] } ?? [:])
    case .active, .offlineStale, .interactionRequired: break
    }
    if facts.confirmationAge == nil && facts.state != .signedOut { fail(.state, .neverAuthenticated) }
  }

  private mutating func checkForbids(_ rule: Capability) {
    for forbid in rule.forbids where facts.snapshot.applies(forbid) == true {
      var details: [String: Decision.Fact] = [:]
      details["whenRole"] = forbid.whenRole.map { .word($0) }
      details["whenScope"] = forbid.whenScope.map { .word($0) }
      details["whenEntitlement"] = forbid.whenEntitlement.map { .word($0) }
      return fail(.forbids, .forbidden, details)
    }
  }

  private mutating func checkClock(_ rule: Capability) {
    // `shrink` needs no check: all ages in `facts` are measured on trusted time (docs/offline.md, Time).
    guard facts.clock == .suspect, rule.onClockSuspect == .deny else { return }
    fail(.clock, .clockSuspect, facts.clockBehind.map { ["behindSeconds": seconds($0)] } ?? [:])
  }

  private mutating func checkSnapshot(_ rule: Capability) {
    guard let snapshot = facts.snapshot else { return fail(.snapshot, .snapshotMissing) }
    // Rights that were never reported are unknown, not absent: a forbid could apply, and a required right could be
    // held.
    let undecided = rule.forbids.filter { facts.snapshot.applies($0) == nil }
    var missing: [String] = []
    if !snapshot.knowsRoles, undecided.contains(where: { $0.whenRole != nil }) { missing.append("roles") }
    if !snapshot.knowsEntitlements,
      rule.requires.entitlementsAll != nil || undecided.contains(where: { $0.whenEntitlement != nil })
    {
      missing.append("entitlements")
    }
    if !missing.isEmpty { fail(.snapshot, .snapshotMissing, ["missing": .words(missing)]) }
    guard let most = rule.snapshotMaxAge else { return }
    if let left = left(snapshot.age, of: most) {
      holds(for: left)
    } else {
      fail(
        .snapshot, .snapshotTooOld,
        ["snapshotMaxAgeSeconds": seconds(most), "snapshotAgeSeconds": seconds(snapshot.age)])
    }
  }

  private mutating func checkRights(_ requires: Capability.Requirements) {
    // `checkSnapshot` has already reported the missing snapshot.
    guard let snapshot = facts.snapshot else { return }
    let missingRoles = requires.rolesAll.map { $0.filter { !snapshot.roles.contains($0) } } ?? []
    let isAny = requires.rolesAny.map { $0.contains(where: snapshot.roles.contains) } ?? true
    if !missingRoles.isEmpty || !isAny {
      var details: [String: Decision.Fact] = [:]
      if !missingRoles.isEmpty { details["missing"] = .words(missingRoles) }
      if !isAny { details["rolesAny"] = requires.rolesAny.map { .words($0) } }
      fail(.roles, .missingRole, details)
    }
    let scopes = facts.tokenScopes.map { snapshot.scopes.intersection($0) } ?? snapshot.scopes
    let missingScopes = requires.scopesAll.map { $0.filter { !scopes.contains($0) } } ?? []
    if !missingScopes.isEmpty { fail(.scopes, .missingScope, ["missing": .words(missingScopes)]) }
    let missing = requires.entitlementsAll.map { $0.filter { !snapshot.entitlements.contains($0) } } ?? []
    if !missing.isEmpty, snapshot.knowsEntitlements {
      fail(.entitlements, .missingEntitlement, ["missing": .words(missing)])
    }
  }

  /// Checks the online and token rules, then the offline window: is the provider's confirmation current or recent
  /// enough?
  private mutating func checkProvider(_ rule: Capability) {
    if rule.token == .unexpired {
      switch facts.token {
      case .unexpired(let remaining): holds(for: remaining)
      case .expired, .none: fail(.token, .freshTokenRequired, ["token": .word("unexpired")])
      }
    }
    let age = facts.confirmationAge
    // A `fresh` token needs the provider, so the offline window does not apply.
    let window = rule.token == .fresh ? nil : rule.offlineWindow
    let limits = [rule.onlineWithin, window].compactMap { $0 }
    let limited = age.flatMap { age in limits.compactMap { left(age, of: $0) }.max() }
    // A limit that the policy gives applies online and offline, and replaces the default of being online.
    if let left = limits.isEmpty ? onlineLeft : limited {
      holds(for: left)
    } else if let window {
      // `checkState` has already reported `neverAuthenticated`.
      guard let age else { return }
      fail(
        .window, .offlineWindowExpired,
        ["offlineWindowSeconds": seconds(window), "lastOnlineAuthAgeSeconds": seconds(age)])
    } else {
      var details: [String: Decision.Fact] = [:]
      details["onlineWithinSeconds"] = rule.onlineWithin.map(seconds)
      details["lastOnlineAuthAgeSeconds"] = age.map(seconds)
      fail(facts.isOnline ? .token : .online, facts.isOnline ? .freshTokenRequired : .onlineRequired, details)
    }
  }

  /// How long the account is still online, for a capability whose policy gives no limit: the provider is reachable, the
  /// access token has not expired, and the confirmation is recent. Nil if it is not online, also once the provider
  /// requires a new sign-in: tokens issued before then prove nothing.
  private var onlineLeft: Milliseconds? {
    guard facts.isOnline, facts.state == .active || facts.state == .interactionRequired,
      case .unexpired(let remaining) = facts.token,
      let left = facts.confirmationAge.flatMap({ left($0, of: Capability.defaultOnlineWithin) })
    else { return nil }
    return min(left, remaining ?? left)
  }

  private mutating func checkStepUp(_ rule: Capability) {
    guard let asked = rule.stepUp, !(facts.isApprovedByPerson && rule.approvalWait != nil) else { return }
    // A confirmation of this capability does as well as a proof for the whole account, and no longer than the rule says.
    if asked.method == .pinentry, let left = facts.confirmations[capability].flatMap({ left($0, of: asked.maxAge) }) {
      return holds(for: left)
    }
    let granted = facts.stepUpsLeft[asked.method]
    // A step-up that has ended counts as none, even if the policy accepts a greater age.
    let age = granted.map { $0 > .zero } ?? true ? facts.stepUpAges[asked.method] : nil
    if let left = age.flatMap({ left($0, of: asked.maxAge) }) { return holds(for: min(left, granted ?? left)) }
    var details: [String: Decision.Fact] = [
      "method": .word(asked.method.rawValue), "maxAgeSeconds": seconds(asked.maxAge),
    ]
    details["ageSeconds"] = age.map(seconds)
    fail(.stepUp, .stepUpRequired, details)
  }

  private mutating func checkSensitivity(_ rule: Capability) {
    guard let wanted = context.sensitivity, wanted > rule.sensitivity else { return }
    fail(
      .sensitivity, .sensitivityTooHigh,
      ["sensitivity": .word(wanted.rawValue), "atMost": .word(rule.sensitivity.rawValue)])
  }

  /// The last check: what is denied anyway takes no use.
  private mutating func checkBudget(_ rule: Capability) {
    guard let perHour = rule.budgetPerHour, let wait = facts.budgets[capability]?.wait(perHour: perHour) else { return }
    fail(
      .budget, .budgetExceeded,
      ["perHour": .seconds(perHour), "retryAfterSeconds": seconds(wait + Milliseconds(999))])
  }

  // MARK: helpers

  private mutating func fail(
    _ check: Decision.Check, _ reason: Decision.Reason, _ facts: [String: Decision.Fact] = [:]
  ) {
    failed.append(Decision.Failure(check, reason, facts))
  }

  private mutating func holds(for duration: Milliseconds?) {
    guard let duration else { return }
    holdsFor = max(.zero, holdsFor.map { min($0, duration) } ?? duration)
  }

  /// The time until this age reaches the limit; nil if it is older. Compares in whole seconds, as policies state them,
  /// so that a limit of 0 s includes the first second.
  private func left(_ age: Milliseconds, of limit: Milliseconds) -> Milliseconds? {
    guard age.wholeSeconds <= limit.wholeSeconds else { return nil }
    return max(.zero, max(limit, .seconds(1)) - age)
  }

  private func seconds(_ duration: Milliseconds) -> Decision.Fact { .seconds(duration.wholeSeconds) }
}

extension PolicyFacts.Snapshot? {
  /// True if every condition of the rule holds, false if one does not, and nil if that hangs on rights which the
  /// provider has not reported yet. The rule concerns the person, so a scope counts even if the current token lacks it.
  fileprivate func applies(_ forbid: Capability.Forbid) -> Bool? {
    func holds(_ condition: String?, isKnown: Bool = true, _ isHeld: (String) -> Bool?) -> Bool? {
      guard let condition else { return true }
      guard isKnown else { return nil }
      return isHeld(condition) ?? false
    }
    let conditions = [
      holds(forbid.whenRole, isKnown: self?.knowsRoles ?? true) { self?.roles.contains($0) },
      holds(forbid.whenScope) { self?.scopes.contains($0) },
      holds(forbid.whenEntitlement, isKnown: self?.knowsEntitlements ?? true) { self?.entitlements.contains($0) },
    ]
    if conditions.contains(false) { return false }
    return conditions.contains(nil) ? nil : true
  }
}
