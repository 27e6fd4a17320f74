package import AgentCore
package import AgentModel

/// A decision as it is answered and written down: the engine's, with its id, its account and its time.
package struct RecordedDecision: Sendable {
  /// The clock that a decision's time comes from.
  package enum TimeBasis: String, CaseIterable, Sendable { case server, boot, wall }

  /// `dec_` and 26 characters of base 32.
  package var id: String
  package var account: AccountID
  package var decision: Decision
  /// By the wall clock, which clients compare with; nil where time alone does not change the decision.
  package var validUntil: Timestamp?
  package var now: Timestamp
  package var basis: TimeBasis
  package var clock: ClockTrust

  package init(
    id: String,
    account: AccountID,
    decision: Decision,
    validUntil: Timestamp? = nil,
    now: Timestamp,
    basis: TimeBasis,
    clock: ClockTrust
  ) {
    self.id = id
    self.account = account
    self.decision = decision
    self.validUntil = validUntil
    self.now = now
    self.basis = basis
    self.clock = clock
  }
}
