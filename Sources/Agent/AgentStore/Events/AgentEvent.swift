package import AgentCore
package import AgentModel

/// An event of an account or of the agent. `AgentServing` sends it to subscribers as the contract names it.
package enum AgentEvent: Sendable {
  case accountAdded(alias: Alias?, provider: ProviderName, issuer: String)
  case accountSwitched(active: AccountID?, previous: AccountID?)
  case accountRenamed(alias: Alias, previous: Alias?)
  case accountSignedOut(SignOutMode, data: DataDisposition, revocation: RevocationOutcome)
  case accountErased
  /// Its secret ends soon.
  case accountExpiring(expiresAt: Timestamp, left: Milliseconds)
  /// `since`: when the state began, by the wall clock; nil for now.
  case sessionStateChanged(AccountState, previous: AccountState, since: Timestamp?)
  /// The person must sign in.
  case sessionExpired(reason: String)
  case tokenRefreshed(generation: UInt64, expiresAt: Timestamp, scopes: ScopeSet, resource: String?)
  case tokenScopesNarrowed(scopes: ScopeSet, lost: [String])
  case snapshotChanged(AuthorizationSnapshot)
  /// A program asks the person to complete a sign-in.
  case signInRequested(provider: ProviderName, signIn: String, client: String?)
  case stepUpGranted(validUntil: Timestamp)
  case stepUpExpired
  case connectivityChanged(Connectivity, previous: Connectivity.State)
  case revocationConfirmed(revocation: String, issuer: String)
  case revocationAbandoned(revocation: String, issuer: String, reason: String)
  case agentLocked(LockReason)
  case agentUnlocked
  case policyChanged(name: String, version: Int64)
  case operationStatusChanged(
    String, OperationMachine.Status, previous: OperationMachine.Status)
  case clockSuspect(ClockTrust, behind: Milliseconds?)
  case approvalRequested(Approvals.Entry)
  /// `decidedBy`: the client that gave the verdict, as it called itself.
  case approvalDecided(Approvals.Entry, ApprovalMachine.End, decidedBy: String?)
  case accessRequested(AccessRequests.Entry)
  case accessDecided(AccessRequests.Entry, AccessEnd, decidedBy: String?)
}

/// How a request for access ended.
package enum AccessEnd: Sendable {
  /// Nil: until the grant ends.
  case allowed(until: Timestamp?)
  case denied
  case grantEnded
}

/// Takes events in the order in which they happen.
package protocol EventPublishing: Sendable {
  /// - Parameters:
  ///   - account: the account that the event names.
  ///   - about: the account that the event is about, where it names none.
  func deliver(_ event: AgentEvent, account: AccountID?, about: AccountID?)
}

extension EventPublishing {
  package func publish(_ event: AgentEvent, account: AccountID? = nil, about: AccountID? = nil) {
    deliver(event, account: account, about: about)
  }
}
