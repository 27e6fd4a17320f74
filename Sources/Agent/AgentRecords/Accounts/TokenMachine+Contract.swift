package import AgentCore
package import AgentModel
internal import AgentPorts

/// Translates the states of `TokenMachine` to the words of the contract.
extension TokenMachine {
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
