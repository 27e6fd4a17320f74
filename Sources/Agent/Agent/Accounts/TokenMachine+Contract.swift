internal import AgentPorts
internal import AgentCore
internal import AgentModel
internal import AgentProtocol

/// The machine's words in the words of the contract.
extension TokenMachine {
  func state(at now: BootInstant) -> WireAccountState {
    switch health {
    case .signedOut: return .signedOut
    case .reauthenticate: return .reauthenticationRequired
    case .locked: return .locked
    case .unknown where freshness(at: now) == .expired || freshness(at: now) == .none: return .reauthenticationRequired
    case .ok, .unknown, .misconfigured: break
    }
    if hasInteraction { return .interactionRequired }
    return isOffline ? .offlineStale : .active
  }

  /// What would make the session whole, in the order in which to try it.
  func remedies(for state: WireAccountState) -> [WireRemedy] {
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

  func phase(at now: BootInstant) -> WireRefreshPhase {
    if exchange != nil { return .inFlight }
    if health == .unknown { return .inDoubt }
    return nextAttemptAt.map { now < $0 } == true ? .backoff : .idle
  }
}

extension ExchangeFailure {
  /// The error that tells it.
  var code: ErrorCode {
    switch self {
    case .offline: .offline
    case .untrustedServer: .untrustedServer
    case .transient, .unexplained, .unknownOutcome: .providerUnavailable
    case .reauthenticate: .reauthenticationRequired
    case .locked: .accountLocked
    case .interaction: .interactionRequired
    case .misconfigured: .providerMisconfigured
    case .store: .storeUnavailable
    }
  }

  /// The machine reason beside the name.
  var reason: String? {
    switch self {
    case .offline(let reason), .transient(let reason, _), .unknownOutcome(let reason), .reauthenticate(let reason),
      .misconfigured(let reason):
      reason
    case .unexplained: "unexplainedRefusal"
    case .untrustedServer, .locked, .interaction, .store: nil
    }
  }
}

extension AgentFailure {
  /// Why no token can be given, told to whoever asked.
  init(_ refusal: TokenMachine.Refusal, account: AccountID) {
    switch refusal {
    case .signedOut:
      self = AgentFailure(.signedOut, "This account is signed out. Sign in again to use it.")
      remedies = [.reauthenticate]
    case .reauthenticate(let reason):
      self = AgentFailure(
        .reauthenticationRequired,
        "The provider no longer takes this account's refresh token. Sign in again; the account and its data are kept.")
      self.reason = reason
      remedies = [.reauthenticate]
    case .locked:
      self = AgentFailure(
        .accountLocked,
        "The provider says that this account is disabled. Its administrator can tell more; nothing was deleted.")
      remedies = [.administrator]
    case .interaction(let claims):
      self = AgentFailure(
        .interactionRequired,
        "The provider wants the person for this: sign in once more to go on. Other tokens still work.")
      if let claims { details = [("claims", .text(claims))] }
      remedies = [.interact, .reauthenticate]
    case .misconfigured(let error):
      self = AgentFailure(
        .providerMisconfigured,
        "The provider refuses this client's configuration. Mend it by `provider.update`; nothing was deleted.")
      reason = error
      details = [("providerError", .text(error))]
      remedies = [.administrator]
    case .offline(let pause):
      self = AgentFailure(
        .offline, "There is no way to the provider, and no token that is still good. The session is kept.")
      retryAfter = pause
      remedies = [.connect]
    case .untrustedServer:
      self = AgentFailure(
        .untrustedServer,
        "The server could not be trusted: TLS failed, or no pinned key matched. Nothing was sent to it.")
      remedies = [.administrator]
    case .unavailable(let pause):
      self = AgentFailure(
        .providerUnavailable, "The provider could not answer now. The session is kept; try again later.")
      retryAfter = pause
    case .store:
      self = AgentFailure(VaultFailure.store(.inputOutput))
    }
    self.account = account
  }
}
