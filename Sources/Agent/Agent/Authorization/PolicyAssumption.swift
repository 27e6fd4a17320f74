internal import AgentCore
internal import AgentModel

/// What `policy.explain` assumes instead of what is known; nil keeps what is known.
struct PolicyAssumption: Sendable {
  var online: Bool?
  var state: AccountState?
  /// A step-up of this moment, or none.
  var stepUp: Bool?
  var stepUpAge: Milliseconds?
  var clock: ClockTrust?
  var freshness: TokenMachine.Freshness?
  var snapshotAge: Milliseconds?
  var lastOnlineAuthAge: Milliseconds?
}
