internal import AgentCore
internal import AgentModel

/// A decision as it is answered and written down: the engine's, with its id, its account and its time.
struct RecordedDecision: Sendable {
  /// What the time of a decision rests on.
  enum TimeBasis: String, CaseIterable, Sendable { case server, boot, wall }

  /// `dec_` and 26 characters of base 32.
  var id: String
  var account: AccountID
  var decision: Decision
  /// By the wall clock, which clients compare with; nil where time alone does not change the decision.
  var validUntil: Timestamp?
  var now: Timestamp
  var basis: TimeBasis
  var clock: ClockTrust
}
