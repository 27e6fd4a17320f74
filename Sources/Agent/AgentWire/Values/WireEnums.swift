package import AgentCore
package import AgentModel
package import AgentPorts
package import AgentProtocol
package import AgentRecords
package import AgentStore

// The agent's enums as wire enums. Both have the same raw values: a case of the agent without its wire value would trap
// here (`WireEnumTests`).

extension WireAccountState {
  package init(_ state: AccountState) { self = Self(rawValue: state.rawValue)! }
}

extension WireAccountKind {
  package init(_ kind: AccountKind) { self = Self(rawValue: kind.rawValue)! }
}

extension AccountKind {
  package init(_ wire: WireAccountKind) { self = Self(rawValue: wire.rawValue)! }
}

extension WireRefreshPhase {
  package init(_ phase: RefreshPhase) { self = Self(rawValue: phase.rawValue)! }
}

extension WireDataProtection {
  package init(_ protection: DataProtection) { self = Self(rawValue: protection.rawValue)! }
}

extension WireTokenBinding {
  package init(_ binding: TokenBinding) { self = Self(rawValue: binding.rawValue)! }
}

extension WireProtection {
  package init(_ protection: KeyProtection) { self = Self(rawValue: protection.rawValue)! }
}

extension KeyProtection {
  package init(_ wire: WireProtection) { self = Self(rawValue: wire.rawValue)! }
}

extension SignOutMode {
  package init(_ wire: WireSignOutMode) { self = Self(rawValue: wire.rawValue)! }
}

extension WireSignOutMode {
  package init(_ mode: SignOutMode) { self = Self(rawValue: mode.rawValue)! }
}

extension WireDataDisposition {
  package init(_ disposition: DataDisposition) { self = Self(rawValue: disposition.rawValue)! }
}

extension WireRevocationOutcome {
  package init(_ outcome: RevocationOutcome) { self = Self(rawValue: outcome.rawValue)! }
}

extension SignInFlow {
  package init(_ wire: WireSignInFlow) { self = Self(rawValue: wire.rawValue)! }
}

extension WireSignInFlow {
  package init(_ flow: SignInFlow) { self = Self(rawValue: flow.rawValue)! }
}

extension WireConnectivityState {
  package init(_ state: Connectivity.State) { self = Self(rawValue: state.rawValue)! }
}

extension WireConnectivityBasis {
  package init(_ basis: Connectivity.Basis) { self = Self(rawValue: basis.rawValue)! }
}

extension WireDecisionBasis {
  package init(_ basis: RecordedDecision.TimeBasis) { self = Self(rawValue: basis.rawValue)! }
}

extension WireClockTrust {
  package init(_ trust: ClockTrust) {
    switch trust {
    case .trusted: self = .trusted
    case .suspect: self = .suspect
    }
  }
}

extension WireConnectivity {
  /// - Parameter unreachable: the providers that can't be reached, for a caller who may know of them.
  package init(_ connectivity: Connectivity, unreachable: [ProviderName] = []) {
    self.init(
      state: WireConnectivityState(connectivity.state), since: connectivity.since,
      basis: WireConnectivityBasis(connectivity.basis), unreachable: unreachable.isEmpty ? nil : unreachable)
  }
}

extension WireLastFailure {
  package init(_ failure: LastFailure) {
    self.init(name: failure.kind.rawValue, at: failure.at, reason: failure.reason)
  }
}

extension WireConfinement {
  package init(_ confinement: Confinement) { self = Self(rawValue: confinement.rawValue)! }
}
