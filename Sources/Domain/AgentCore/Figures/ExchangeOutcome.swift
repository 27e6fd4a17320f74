/// How a refresh of a grant ended, as a label of figures (docs/metrics.md).
public enum ExchangeOutcome: String, CaseIterable, Hashable, Sendable {
  case renewed
  /// The provider renewed the grant and gave no access token that can be used.
  case noToken
  case offline, untrustedServer, providerUnavailable
  /// The answer was lost: the provider may have consumed the refresh token.
  case outcomeUnknown
  case reauthenticationRequired, accountLocked, interactionRequired, providerMisconfigured, storeUnavailable

  public init(_ failure: ExchangeFailure) {
    self =
      switch failure {
      case .offline: .offline
      case .untrustedServer: .untrustedServer
      case .transient, .unexplained: .providerUnavailable
      case .unknownOutcome: .outcomeUnknown
      case .reauthenticate: .reauthenticationRequired
      case .locked: .accountLocked
      case .interaction: .interactionRequired
      case .misconfigured: .providerMisconfigured
      case .store: .storeUnavailable
      }
  }
}
