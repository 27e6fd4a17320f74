package import AgentCore
package import AgentModel
internal import AgentPorts

/// Translates the states of `TokenMachine` to the words of the contract.
extension TokenMachine {
  package func state(at now: BootInstant) -> AccountState {
    switch health {
    case .signedOut: return .signedOut
    case .reauthenticate: return .reauthenticationRequired
    case .locked: return .locked
    case .unknown where [.expired, .none].contains(freshness(at: now)) && !mayRecover(at: now):
      return .reauthenticationRequired
    case .ok, .unknown, .misconfigured: break
    }
    if hasInteraction { return .interactionRequired }
    return isOffline ? .offlineStale : .active
  }

  /// The steps that repair the session, in the order in which to try them.
  package func remedies(for state: AccountState) -> [Remedy] {
    switch state {
    case .offlineStale: return [.connect]
    case .interactionRequired: return [.interact, .reauthenticate]
    case .reauthenticationRequired, .signedOut: return [.reauthenticate]
    case .locked: return [.administrator]
    case .active: break
    }
    if case .misconfigured = health { return [.administrator] }
    return []
  }

  package func phase(at now: BootInstant) -> RefreshPhase {
    if exchange != nil { return .inFlight }
    if health == .unknown { return .inDoubt }
    return nextAttemptAt.map { now < $0 } == true ? .backoff : .idle
  }
}
