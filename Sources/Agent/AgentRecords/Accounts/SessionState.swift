package import AgentCore
package import AgentModel

/// The state of an account, and when it began: the one record that `session.get`, `account.get`, `account.list`,
/// `agent.status` and the diagnosis tell. `Account.perform` writes it into `TokenCache` with the change that it tells
/// subscribers; of an account that is not in memory the profile has it.
package struct SessionState: Hashable, Sendable {
  package var state: AccountState
  /// On the provider's timeline.
  var since: Timestamp?
  /// When time alone may change the state: the account is asked again then. Nil if it may not.
  var mayChangeAt: BootInstant?

  package init(state: AccountState, since: Timestamp? = nil, mayChangeAt: BootInstant? = nil) {
    self.state = state
    self.since = since
    self.mayChangeAt = mayChangeAt
  }
}

extension SessionState {
  init(_ profile: AccountProfile) { self.init(state: profile.restingState, since: profile.stateSince) }
}

extension TokenCache {
  package func session(of profile: AccountProfile) -> SessionState {
    session(of: profile.id) ?? SessionState(profile)
  }
}
