internal import AgentModel

/// What may this person do now? A pure function of the policy, the facts and the caller's context.
///
/// - P1: deny by default. No policy, no capability, no snapshot, an error in a rule: denied.
/// - P2: everything narrows. The rights are those of the snapshot, of the policy, of the token's known scopes and of
///   the caller's context at once.
/// - P3: every failure is told, in the order of the design; the first is the reason.
public enum PolicyEngine {
  /// The policy that an account's provider stands under.
  public enum Policy: Hashable, Sendable {
    case document(PolicyDocument)
    /// None is configured.
    case none
    /// One is named, and it is not there or can't be read.
    case unreadable(name: String)
  }

  public static func decide(
    _ capability: String, context: PolicyContext = PolicyContext(), facts: PolicyFacts, under policy: Policy
  ) -> Decision {
    switch policy {
    case .document(let document):
      var inquiry = Inquiry(facts: facts, context: context, rule: document.capabilities[capability])
      inquiry.run()
      return inquiry.decision(capability, policy: (document.name, document.version))
    case .none:
      var inquiry = Inquiry(facts: facts, context: context, rule: nil)
      inquiry.run()
      return inquiry.decision(capability, policy: ("", 0))
    case .unreadable(let name):
      var inquiry = Inquiry(facts: facts, context: context, rule: nil)
      inquiry.failed = [Decision.Failure(.policy, .policyError, ["policy": .word(name)])]
      inquiry.checkState()
      return inquiry.decision(capability, policy: (name, 0))
    }
  }
}

/// One question: the checks in the order of the design, and what each found.
private struct Inquiry {
  let facts: PolicyFacts
  let context: PolicyContext
  /// Nil: the policy does not know the capability.
  let rule: Capability?
  var failed: [Decision.Failure] = []
  /// For how long what was found holds.
  var holdsFor: Milliseconds?

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
  }

  // MARK: the checks

  mutating func checkState() {
    switch facts.state {
    case .locked: fail(.state, .accountLocked)
    case .signedOut: fail(.state, .signedOut)
    case .reauthenticationRequired: fail(.state, .reauthenticationRequired)
    case .active, .offlineStale, .interactionRequired: break
    }
    if facts.confirmationAge == nil && facts.state != .signedOut { fail(.state, .neverAuthenticated) }
  }

  private mutating func checkForbids(_ rule: Capability) {
    for forbid in rule.forbids {
      func holds(_ condition: String?, _ held: Set<String>?) -> Bool {
        guard let condition else { return true }
        return held?.contains(condition) ?? false
      }
      // Also a scope that the token at hand lacks: it is about the person.
      guard holds(forbid.whenRole, facts.snapshot?.roles), holds(forbid.whenScope, facts.snapshot?.scopes),
        holds(forbid.whenEntitlement, facts.snapshot?.entitlements)
      else { continue }
      var told: [String: Decision.Fact] = [:]
      told["whenRole"] = forbid.whenRole.map { .word($0) }
      told["whenScope"] = forbid.whenScope.map { .word($0) }
      told["whenEntitlement"] = forbid.whenEntitlement.map { .word($0) }
      return fail(.forbids, .forbidden, told)
    }
  }

  private mutating func checkClock(_ rule: Capability) {
    // `shrink` needs nothing here: every age in the facts runs from the mark (DESIGN, Time).
    if facts.clock == .suspect && rule.onClockSuspect == .deny { fail(.clock, .clockSuspect) }
  }

  private mutating func checkSnapshot(_ rule: Capability) {
    guard let snapshot = facts.snapshot else { return fail(.snapshot, .snapshotMissing) }
    // A forbidden role that nobody asked about yet is not a role that the person lacks.
    if !snapshot.knowsRoles && rule.forbids.contains(where: { $0.whenRole != nil }) {
      fail(.snapshot, .snapshotMissing, ["missing": .words(["roles"])])
    }
    guard let most = rule.snapshotMaxAge else { return }
    if isWithin(snapshot.age, most) {
      holds(for: most - snapshot.age)
    } else {
      fail(
        .snapshot, .snapshotTooOld,
        ["snapshotMaxAgeSeconds": seconds(most), "snapshotAgeSeconds": seconds(snapshot.age)])
    }
  }

  private mutating func checkRights(_ requires: Capability.Requirements) {
    // Without a snapshot nothing is known of them, and that was told.
    guard let snapshot = facts.snapshot else { return }
    let missingRoles = requires.rolesAll.map { $0.filter { !snapshot.roles.contains($0) } } ?? []
    let isAny = requires.rolesAny.map { $0.contains(where: snapshot.roles.contains) } ?? true
    if !missingRoles.isEmpty || !isAny {
      var told: [String: Decision.Fact] = [:]
      if !missingRoles.isEmpty { told["missing"] = .words(missingRoles) }
      if !isAny { told["rolesAny"] = requires.rolesAny.map { .words($0) } }
      fail(.roles, .missingRole, told)
    }
    let scopes = facts.tokenScopes.map { snapshot.scopes.intersection($0) } ?? snapshot.scopes
    let missingScopes = requires.scopesAll.map { $0.filter { !scopes.contains($0) } } ?? []
    if !missingScopes.isEmpty { fail(.scopes, .missingScope, ["missing": .words(missingScopes)]) }
    let missing = requires.entitlementsAll.map { $0.filter { !snapshot.entitlements.contains($0) } } ?? []
    if !missing.isEmpty { fail(.entitlements, .missingEntitlement, ["missing": .words(missing)]) }
  }

  /// Online and token, then the window: is the provider behind it now, or lately enough?
  private mutating func checkProvider(_ rule: Capability) {
    if rule.token == .unexpired {
      switch facts.token {
      case .unexpired(let remaining): holds(for: remaining)
      case .expired, .none: fail(.token, .freshTokenRequired, ["token": .word("unexpired")])
      }
    }
    let age = facts.confirmationAge
    let isRecent = rule.onlineWithin.map { limit in age.map { isWithin($0, limit) } ?? false } ?? false
    // What it needs that the provider be asked for. A window does not stand in for a fresh token.
    let window = rule.token == .fresh ? nil : rule.offlineWindow
    let isInWindow = window.map { limit in age.map { isWithin($0, limit) } ?? false } ?? false
    let left = age.map { age in
      [isRecent ? rule.onlineWithin : nil, isInWindow ? window : nil].compactMap { $0 }.map { $0 - age }.max()
    }
    if facts.isConfirmedNow {
      // When the token runs out, what is left of a window goes on.
      if case .unexpired(let remaining?) = facts.token { holds(for: max(remaining, (left ?? nil) ?? .zero)) }
    } else if isRecent || isInWindow {
      holds(for: left ?? nil)
    } else if let window {
      // Who never was confirmed was told so.
      guard let age else { return }
      fail(
        .window, .offlineWindowExpired,
        ["offlineWindowSeconds": seconds(window), "lastOnlineAuthAgeSeconds": seconds(age)])
    } else {
      var told: [String: Decision.Fact] = [:]
      told["onlineWithinSeconds"] = rule.onlineWithin.map(seconds)
      told["lastOnlineAuthAgeSeconds"] = age.map(seconds)
      fail(facts.isOnline ? .token : .online, facts.isOnline ? .freshTokenRequired : .onlineRequired, told)
    }
  }

  private mutating func checkStepUp(_ rule: Capability) {
    guard let asked = rule.stepUp else { return }
    let left = facts.stepUpsLeft[asked.method]
    // One that is over is none: whoever asked for a short one meant it.
    let age = left.map { $0 > .zero } ?? true ? facts.stepUpAges[asked.method] : nil
    if let age, isWithin(age, asked.maxAge) { return holds(for: min(asked.maxAge - age, left ?? asked.maxAge)) }
    var told: [String: Decision.Fact] = [
      "method": .word(asked.method.rawValue), "maxAgeSeconds": seconds(asked.maxAge),
    ]
    told["ageSeconds"] = age.map(seconds)
    fail(.stepUp, .stepUpRequired, told)
  }

  private mutating func checkSensitivity(_ rule: Capability) {
    guard let wanted = context.sensitivity, wanted > rule.sensitivity else { return }
    fail(
      .sensitivity, .sensitivityTooHigh,
      ["sensitivity": .word(wanted.rawValue), "atMost": .word(rule.sensitivity.rawValue)])
  }

  // MARK: what comes of them

  func decision(_ capability: String, policy: (name: String, version: Int64)) -> Decision {
    let effect = effect
    return Decision(
      capability: capability, effect: effect, reason: failed.first?.reason ?? .allowed, failed: failed,
      obligations: effect == .deny ? [] : rule?.obligations ?? [],
      remedies: Set(failed.map(remedy)).sorted(), validFor: effect == .deny ? nil : holdsFor,
      policyName: policy.name, policyVersion: policy.version, snapshotVersion: facts.snapshot?.version ?? 0)
  }

  /// Degrade: while the provider asks for a new sign-in, reading may go on where the policy says so. Writing may not:
  /// `readOnly` on a capability that writes would read as a permission.
  private var effect: Decision.Effect {
    if failed.isEmpty { return .allow }
    let isDegraded = failed.count == 1 && failed[0].reason == .reauthenticationRequired
    return isDegraded && rule?.kind == .read && rule?.onReauthentication == .readOnly ? .readOnly : .deny
  }

  private func remedy(_ failure: Decision.Failure) -> Decision.Remedy {
    switch failure.reason {
    case .clockSuspect: .connect
    case .stepUpRequired: .stepUp
    // Consent is the provider's to ask for.
    case .missingScope: .interact
    case .signedOut, .reauthenticationRequired, .neverAuthenticated: .reauthenticate
    case .snapshotMissing, .snapshotTooOld, .onlineRequired, .freshTokenRequired, .offlineWindowExpired: contact
    case .allowed, .unknownCapability, .accountLocked, .missingRole, .missingEntitlement, .forbidden,
      .sensitivityTooHigh, .policyError:
      .administrator
    }
  }

  /// What brings the provider's word.
  private var contact: Decision.Remedy {
    switch facts.state {
    case .active, .offlineStale: .connect
    case .interactionRequired: .interact
    case .reauthenticationRequired, .signedOut: .reauthenticate
    case .locked: .administrator
    }
  }

  // MARK: small words

  private mutating func fail(
    _ check: Decision.Check, _ reason: Decision.Reason, _ facts: [String: Decision.Fact] = [:]
  ) {
    failed.append(Decision.Failure(check, reason, facts))
  }

  private mutating func holds(for duration: Milliseconds?) {
    guard let duration else { return }
    holdsFor = max(.zero, holdsFor.map { min($0, duration) } ?? duration)
  }

  /// Policies count in whole seconds, so ages are compared so.
  private func isWithin(_ age: Milliseconds, _ limit: Milliseconds) -> Bool {
    age.wholeSeconds <= limit.wholeSeconds
  }

  private func seconds(_ duration: Milliseconds) -> Decision.Fact { .seconds(duration.wholeSeconds) }
}
