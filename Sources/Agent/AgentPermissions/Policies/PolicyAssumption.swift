package import AgentCore
package import AgentModel

/// The facts that `policy.explain` assumes instead of the known ones; nil keeps the known fact.
package struct PolicyAssumption: Sendable {
  package var online: Bool?
  package var state: AccountState?
  /// A step-up of this moment, or none.
  package var stepUp: Bool?
  package var stepUpAge: Milliseconds?
  package var clock: ClockTrust?
  package var freshness: TokenMachine.Freshness?
  package var snapshotAge: Milliseconds?
  package var lastOnlineAuthAge: Milliseconds?

  package init(
    online: Bool? = nil, state: AccountState? = nil, stepUp: Bool? = nil, stepUpAge: Milliseconds? = nil,
    clock: ClockTrust? = nil, freshness: TokenMachine.Freshness? = nil, snapshotAge: Milliseconds? = nil,
    lastOnlineAuthAge: Milliseconds? = nil
  ) {
    self.online = online
    self.state = state
    self.stepUp = stepUp
    self.stepUpAge = stepUpAge
    self.clock = clock
    self.freshness = freshness
    self.snapshotAge = snapshotAge
    self.lastOnlineAuthAge = lastOnlineAuthAge
  }
}
