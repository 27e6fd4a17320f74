internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol

/// The agent's events, translated to those of the contract.
extension EventHub: EventPublishing {
  func deliver(_ event: AgentEvent, account: AccountID?, about: AccountID?) {
    switch event {
    case .accountAdded(let alias, let provider, let issuer):
      send(AccountAddedEvent(alias: alias, provider: provider, issuer: issuer), account, about)
    case .accountSwitched(let active, let previous):
      let event = AccountSwitchedEvent(active: active, previous: previous)
      guard let previous, previous != account else { return send(event, account, about) }
      // A caller whose grant does not cover the previous account gets the event without it.
      send(
        event, account, about, mentions: previous, otherwise: AccountSwitchedEvent(active: active, previous: nil))
    case .accountRenamed(let alias, let previous):
      send(AccountRenamedEvent(alias: alias, previous: previous), account, about)
    case .accountSignedOut(let mode, let data, let revocation):
      send(
        AccountSignedOutEvent(
          mode: WireSignOutMode(mode), data: WireDataDisposition(data), revocation: WireRevocationOutcome(revocation)),
        account, about)
    case .accountErased: send(AccountErasedEvent(), account, about)
    case .sessionStateChanged(let state, let previous):
      send(
        SessionStateChangedEvent(state: WireAccountState(state), previous: WireAccountState(previous)), account, about)
    case .sessionExpired(let reason):
      send(SessionExpiredEvent(reason: reason, remedies: [.reauthenticate]), account, about)
    case .tokenRefreshed(let generation, let expiresAt, let scopes, let resource):
      send(
        TokenRefreshedEvent(
          generation: Int(generation), expiresAt: expiresAt, scopes: scopes.names, resource: resource), account, about)
    case .tokenScopesNarrowed(let scopes, let lost):
      send(TokenScopesNarrowedEvent(scopes: scopes.names, lost: lost), account, about)
    case .snapshotChanged(let snapshot):
      send(
        SnapshotChangedEvent(
          version: Int(snapshot.version), roles: snapshot.roles.sorted(), scopes: snapshot.scopes.names),
        account, about)
    case .stepUpGranted(let validUntil): send(StepUpGrantedEvent(validUntil: validUntil), account, about)
    case .stepUpExpired: send(StepUpExpiredEvent(), account, about)
    case .connectivityChanged(let now, let previous):
      send(
        ConnectivityChangedEvent(
          state: WireConnectivityState(now.state), previous: WireConnectivityState(previous),
          basis: WireConnectivityBasis(now.basis)), account, about)
    case .revocationConfirmed(let revocation, let issuer):
      send(RevocationConfirmedEvent(revocation: revocation, issuer: issuer), account, about)
    case .revocationAbandoned(let revocation, let issuer, let reason):
      send(RevocationAbandonedEvent(revocation: revocation, issuer: issuer, reason: reason), account, about)
    case .agentLocked(let reason): send(AgentLockedEvent(reason: reason.rawValue), account, about)
    case .agentUnlocked: send(AgentUnlockedEvent(), account, about)
    case .policyChanged(let name, let version):
      send(PolicyChangedEvent(name: name, version: Int(version)), account, about)
    case .clockSuspect(let clock, let behind):
      send(
        ClockSuspectEvent(clock: WireClockTrust(clock), behindSeconds: behind.map { Int($0.wholeSeconds) }),
        account, about)
    }
  }
}
