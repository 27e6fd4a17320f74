package import AgentCore
internal import AgentModel
package import AgentPermissions
package import AgentProtocol
internal import AgentRecords
package import AgentStore
internal import JSONRPC

// The engine's raw values are those of the contract; a test compares them.

extension WireEffect {
  package init(_ effect: Decision.Effect) {
    switch effect {
    case .allow: self = .allow
    case .deny: self = .deny
    case .readOnly: self = .readOnly
    }
  }
}

extension WireDecisionReason {
  package init(_ reason: Decision.Reason) { self = Self(rawValue: reason.rawValue) ?? .policyError }
}

extension WireRemedy {
  package init(_ remedy: Decision.Remedy) { self = Self(rawValue: remedy.rawValue) ?? .administrator }
}

extension WireDecision {
  package init(_ recorded: RecordedDecision) {
    let decision = recorded.decision
    self.init(
      decisionId: recorded.id, effect: WireEffect(decision.effect), capability: decision.capability,
      reason: WireDecisionReason(decision.reason), failed: decision.failed.map(WireFailedCheck.init),
      obligations: decision.obligations, remedies: decision.remedies.map(WireRemedy.init),
      validUntil: recorded.validUntil, validForSeconds: decision.validFor.map { Int($0.wholeSeconds) },
      policy: WirePolicyUse(name: decision.policyName, version: Int(decision.policyVersion)),
      snapshotVersion: Int(clamping: decision.snapshotVersion),
      time: WireDecisionTime(
        now: recorded.now, basis: WireDecisionBasis(recorded.basis), clock: WireClockTrust(recorded.clock)),
      account: recorded.account)
  }
}

extension PolicyAssumption {
  package init(_ wire: WireAssumption) {
    self.init(
      online: wire.online, state: wire.state.flatMap { AccountState(rawValue: $0.rawValue) }, stepUp: wire.stepUp,
      stepUpAge: wire.stepUpAgeSeconds.map { .seconds(Int64($0)) },
      clock: wire.clock.map { $0 == .suspect ? .suspect : .trusted },
      freshness: wire.freshness.flatMap { TokenMachine.Freshness(rawValue: $0.rawValue) },
      snapshotAge: wire.snapshotAgeSeconds.map { .seconds(Int64($0)) },
      lastOnlineAuthAge: wire.lastOnlineAuthAgeSeconds.map { .seconds(Int64($0)) })
  }
}

extension WireFailedCheck {
  package init(_ failure: Decision.Failure) {
    let facts = failure.facts.isEmpty ? nil : RawJSON { failure.writeFacts(to: &$0) }
    self.init(check: failure.check.rawValue, reason: WireDecisionReason(failure.reason), facts: facts)
  }
}

extension PolicyContext {
  package init(_ context: WireAuthorizationContext?) {
    self.init(sensitivity: context?.sensitivity.flatMap { Sensitivity(rawValue: $0.rawValue) })
  }
}
