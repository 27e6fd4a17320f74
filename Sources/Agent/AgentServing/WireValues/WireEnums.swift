internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import AgentUpkeep

// The agent's enums as wire enums. Both have the same raw values: a case of the agent without its wire value would trap
// here (`WireEnumTests`).

extension WireAccountState {
  init(_ state: AccountState) { self = Self(rawValue: state.rawValue)! }
}

extension WireAccountKind {
  init(_ kind: AccountKind) { self = Self(rawValue: kind.rawValue)! }
}

extension AccountKind {
  init(_ wire: WireAccountKind) { self = Self(rawValue: wire.rawValue)! }
}

extension WireRefreshPhase {
  init(_ phase: RefreshPhase) { self = Self(rawValue: phase.rawValue)! }
}

extension WireDataProtection {
  init(_ protection: DataProtection) { self = Self(rawValue: protection.rawValue)! }
}

extension WireTokenBinding {
  init(_ binding: TokenBinding) { self = Self(rawValue: binding.rawValue)! }
}

extension WireProtection {
  init(_ protection: KeyProtection) { self = Self(rawValue: protection.rawValue)! }
}

extension KeyProtection {
  init(_ wire: WireProtection) { self = Self(rawValue: wire.rawValue)! }
}

extension SignOutMode {
  init(_ wire: WireSignOutMode) { self = Self(rawValue: wire.rawValue)! }
}

extension WireSignOutMode {
  init(_ mode: SignOutMode) { self = Self(rawValue: mode.rawValue)! }
}

extension WireDataDisposition {
  init(_ disposition: DataDisposition) { self = Self(rawValue: disposition.rawValue)! }
}

extension WireRevocationOutcome {
  init(_ outcome: RevocationOutcome) { self = Self(rawValue: outcome.rawValue)! }
}

extension SignInFlow {
  init(_ wire: WireSignInFlow) { self = Self(rawValue: wire.rawValue)! }
}

extension WireSignInFlow {
  init(_ flow: SignInFlow) { self = Self(rawValue: flow.rawValue)! }
}

extension WireConnectivityState {
  init(_ state: Connectivity.State) { self = Self(rawValue: state.rawValue)! }
}

extension WireConnectivityBasis {
  init(_ basis: Connectivity.Basis) { self = Self(rawValue: basis.rawValue)! }
}

extension WireDecisionBasis {
  init(_ basis: RecordedDecision.TimeBasis) { self = Self(rawValue: basis.rawValue)! }
}

extension WireSeverity {
  init(_ severity: Finding.Severity) { self = Self(rawValue: severity.rawValue)! }
}

extension WireSkippedKind {
  init(_ kind: SkippedItem.Kind) { self = Self(rawValue: kind.rawValue)! }
}

extension WireSkippedReason {
  init(_ reason: SkippedItem.Reason) { self = Self(rawValue: reason.rawValue)! }
}

extension WireClockTrust {
  init(_ trust: ClockTrust) {
    switch trust {
    case .trusted: self = .trusted
    case .suspect: self = .suspect
    }
  }
}

extension WireSkippedItem {
  init(_ item: SkippedItem) {
    self.init(
      kind: WireSkippedKind(item.kind), name: item.name, account: item.account,
      reason: WireSkippedReason(item.reason))
  }
}

extension WireFinding {
  init(_ finding: Finding) {
    self.init(
      check: finding.check, severity: WireSeverity(finding.severity), subject: finding.subject,
      account: finding.account, message: finding.message, remedies: finding.remedies)
  }
}

extension WireConnectivity {
  /// - Parameter unreachable: the providers that can't be reached, for a caller who may know of them.
  init(_ connectivity: Connectivity, unreachable: [ProviderName] = []) {
    self.init(
      state: WireConnectivityState(connectivity.state), since: connectivity.since,
      basis: WireConnectivityBasis(connectivity.basis), unreachable: unreachable.isEmpty ? nil : unreachable)
  }
}

extension WireLastFailure {
  init(_ failure: LastFailure) { self.init(name: failure.kind.rawValue, at: failure.at, reason: failure.reason) }
}

extension WireConfinement {
  init(_ confinement: Confinement) { self = Self(rawValue: confinement.rawValue)! }
}
