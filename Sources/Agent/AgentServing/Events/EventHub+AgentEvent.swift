internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentStore

/// The agent's events, translated to those of the contract.
extension EventHub: EventPublishing {
  func deliver(_ event: AgentEvent, account: AccountID?, about: AccountID?) {
    func tell(_ data: some WireEvent) { send(data, account, about) }
    switch event {
    case .accountAdded(let alias, let provider, let issuer):
      tell(AccountAddedEvent(alias: alias, provider: provider, issuer: issuer))
    case .accountSwitched(let active, let previous): tellSwitch(to: active, from: previous, account, about)
    case .accountRenamed(let alias, let previous): tell(AccountRenamedEvent(alias: alias, previous: previous))
    case .accountSignedOut(let mode, let data, let revocation): tell(AccountSignedOutEvent(mode, data, revocation))
    case .accountErased: tell(AccountErasedEvent())
    case .accountExpiring(let expiresAt, let left):
      tell(AccountExpiringEvent(expiresAt: expiresAt, expiresInSeconds: Int(max(0, left.wholeSeconds))))
    case .sessionStateChanged(let state, let previous): tell(SessionStateChangedEvent(state, previous: previous))
    case .sessionExpired(let reason): tell(SessionExpiredEvent(reason: reason, remedies: [.reauthenticate]))
    case .tokenRefreshed(let generation, let expiresAt, let scopes, let resource):
      tell(
        TokenRefreshedEvent(
          generation: Int(generation), expiresAt: expiresAt, scopes: scopes.names, resource: resource))
    case .tokenScopesNarrowed(let scopes, let lost): tell(TokenScopesNarrowedEvent(scopes: scopes.names, lost: lost))
    case .snapshotChanged(let snapshot): tell(SnapshotChangedEvent(snapshot))
    case .signInRequested(let provider, let signIn, let client):
      tell(SignInRequestedEvent(provider: provider, signIn: signIn, client: client))
    case .stepUpGranted(let validUntil): tell(StepUpGrantedEvent(validUntil: validUntil))
    case .stepUpExpired: tell(StepUpExpiredEvent())
    case .connectivityChanged(let now, let previous): tell(ConnectivityChangedEvent(now, previous: previous))
    case .revocationConfirmed(let revocation, let issuer):
      tell(RevocationConfirmedEvent(revocation: revocation, issuer: issuer))
    case .revocationAbandoned(let revocation, let issuer, let reason):
      tell(RevocationAbandonedEvent(revocation: revocation, issuer: issuer, reason: reason))
    case .agentLocked(let reason): tell(AgentLockedEvent(reason: reason.rawValue))
    case .agentUnlocked: tell(AgentUnlockedEvent())
    case .policyChanged(let name, let version): tell(PolicyChangedEvent(name: name, version: Int(version)))
    case .operationStatusChanged(let operation, let status, let previous):
      tell(
        OperationStatusChangedEvent(
          operation: operation, status: WireOperationStatus(status), previous: WireOperationStatus(previous)))
    case .clockSuspect(let clock, let behind): tell(ClockSuspectEvent(clock, behind: behind))
    case .approvalRequested(let entry):
      send(ApprovalRequestedEvent(entry), account, about, of: entry.wish.request.grant)
    case .approvalDecided(let entry, let end, let client):
      guard let event = ApprovalDecidedEvent(entry, end, decidedBy: client) else { return }
      send(event, account, about, of: entry.wish.request.grant)
    case .accessRequested(let entry): send(AccessRequestedEvent(entry), account, about, of: entry.grant)
    case .accessDecided(let entry, let end, let client):
      send(AccessDecidedEvent(entry, end, decidedBy: client), account, about, of: entry.grant)
    }
  }

  /// A caller whose grant does not cover the previous account is not told of it.
  private func tellSwitch(
    to active: AccountID?, from previous: AccountID?, _ account: AccountID?, _ about: AccountID?
  ) {
    let event = AccountSwitchedEvent(active: active, previous: previous)
    guard let previous, previous != account else { return send(event, account, about) }
    send(event, account, about, mentions: previous, otherwise: AccountSwitchedEvent(active: active, previous: nil))
  }
}

extension AccountSignedOutEvent {
  fileprivate init(_ mode: SignOutMode, _ data: DataDisposition, _ revocation: RevocationOutcome) {
    self.init(
      mode: WireSignOutMode(mode), data: WireDataDisposition(data), revocation: WireRevocationOutcome(revocation))
  }
}

extension SessionStateChangedEvent {
  fileprivate init(_ state: AccountState, previous: AccountState) {
    self.init(state: WireAccountState(state), previous: WireAccountState(previous))
  }
}

extension SnapshotChangedEvent {
  fileprivate init(_ snapshot: AuthorizationSnapshot) {
    self.init(version: Int(snapshot.version), roles: snapshot.roles.sorted(), scopes: snapshot.scopes.names)
  }
}

extension ConnectivityChangedEvent {
  fileprivate init(_ now: Connectivity, previous: Connectivity.State) {
    self.init(
      state: WireConnectivityState(now.state), previous: WireConnectivityState(previous),
      basis: WireConnectivityBasis(now.basis))
  }
}

extension ClockSuspectEvent {
  fileprivate init(_ clock: ClockTrust, behind: Milliseconds?) {
    self.init(clock: WireClockTrust(clock), behindSeconds: behind.map { Int($0.wholeSeconds) })
  }
}
