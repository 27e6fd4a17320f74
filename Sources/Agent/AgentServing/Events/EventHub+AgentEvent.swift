internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentStore
internal import AgentWire

/// The agent's events, translated to those of the contract.
extension EventHub: EventPublishing {
  func deliver(_ event: AgentEvent, account: AccountID?, about: AccountID?) {
    let data: any WireEvent
    switch event {
    case .accountAdded(let alias, let provider, let issuer):
      data = AccountAddedEvent(alias: alias, provider: provider, issuer: issuer)
    case .accountSwitched(let active, let previous): return tellSwitch(to: active, from: previous, account, about)
    case .accountRenamed(let alias, let previous): data = AccountRenamedEvent(alias: alias, previous: previous)
    case .accountSignedOut(let mode, let disposition, let revocation):
      data = AccountSignedOutEvent(mode, disposition, revocation)
    case .accountErased: data = AccountErasedEvent()
    case .accountExpiring(let expiresAt, let left):
      data = AccountExpiringEvent(expiresAt: expiresAt, expiresInSeconds: Int(max(0, left.wholeSeconds)))
    case .sessionStateChanged(let state, let previous, let since):
      return send(SessionStateChangedEvent(state, previous: previous), account, about, at: since)
    case .sessionExpired(let reason): data = SessionExpiredEvent(reason: reason, remedies: [.reauthenticate])
    case .tokenRefreshed(let generation, let expiresAt, let scopes, let resource):
      data = TokenRefreshedEvent(
        generation: Int(generation), expiresAt: expiresAt, scopes: scopes.names, resource: resource)
    case .tokenScopesNarrowed(let scopes, let lost): data = TokenScopesNarrowedEvent(scopes: scopes.names, lost: lost)
    case .snapshotChanged(let snapshot): data = SnapshotChangedEvent(snapshot)
    case .signInRequested(let provider, let signIn, let client):
      data = SignInRequestedEvent(provider: provider, signIn: signIn, client: client)
    case .stepUpGranted(let validUntil): data = StepUpGrantedEvent(validUntil: validUntil)
    case .stepUpExpired: data = StepUpExpiredEvent()
    case .connectivityChanged(let now, let previous): data = ConnectivityChangedEvent(now, previous: previous)
    case .revocationConfirmed(let revocation, let issuer):
      data = RevocationConfirmedEvent(revocation: revocation, issuer: issuer)
    case .revocationAbandoned(let revocation, let issuer, let reason):
      data = RevocationAbandonedEvent(revocation: revocation, issuer: issuer, reason: reason)
    case .agentLocked(let reason): data = AgentLockedEvent(reason: reason.rawValue)
    case .agentUnlocked: data = AgentUnlockedEvent()
    case .policyChanged(let name, let version): data = PolicyChangedEvent(name: name, version: Int(version))
    case .operationStatusChanged(let operation, let status, let previous):
      data = OperationStatusChangedEvent(
        operation: operation, status: WireOperationStatus(status), previous: WireOperationStatus(previous))
    case .clockSuspect(let clock, let behind): data = ClockSuspectEvent(clock, behind: behind)
    case .approvalRequested(let entry):
      return send(ApprovalRequestedEvent(entry), account, about, of: entry.wish.request.grant)
    case .approvalDecided(let entry, let end, let client):
      guard let event = ApprovalDecidedEvent(entry, end, decidedBy: client) else { return }
      return send(event, account, about, of: entry.wish.request.grant)
    case .accessRequested(let entry): return send(AccessRequestedEvent(entry), account, about, of: entry.grant)
    case .accessDecided(let entry, let end, let client):
      return send(AccessDecidedEvent(entry, end, decidedBy: client), account, about, of: entry.grant)
    }
    send(data, account, about)
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
