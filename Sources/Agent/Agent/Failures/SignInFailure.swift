package import AgentCore
package import AgentPorts

/// Why a sign-in brought no account. Nothing of it was kept.
package enum SignInFailure: Sendable {
  /// The person did not sign in in time.
  case expired
  case cancelled
  /// The person, or the provider for them, said no.
  case denied
  /// Another person signed in than the account's.
  case otherPerson
  /// The provider named no tenant, and the configuration expects one.
  case tenantMissing
  /// The provider's answer can't be read as a query.
  case unreadableAnswer
  /// The provider's answer has neither a code nor an error.
  case answerWithoutCode
  /// What the person pasted is neither an address nor a code.
  case pastedNoAnswer
  /// The answer's `state` is not the sign-in's.
  case stateMismatch
  /// The answer's `iss` is not the provider's (RFC 9207).
  case issuerMismatch
  /// An error of the authorization endpoint, one that the standards have or `other`.
  case providerError(String)
  case idTokenMissing
  case idTokenInvalid(IDTokenFailure)
  case subjectMissing
  /// The provider tells nowhere who signed in.
  case identityUnavailable
  /// Userinfo or introspection did not tell who signed in.
  case identityNotTold
  case notATokenResponse
  case accessTokenMissing
  case deviceFlowUnsupported
  case invalidDeviceAnswer
  /// The provider no longer knows the device code.
  case deviceCodeUnknown
  case portBusy(UInt16)
  case noListener
  /// The token endpoint gave no tokens.
  case exchange(ExchangeFailure)
  /// The answer that was brought is none; the right one may still be.
  indirect case answerRejected(AgentFailure, attemptsLeft: Int)
  /// The refresh token that was imported is spent, and no account came of it.
  indirect case importedTokenSpent(AgentFailure)
}

extension AgentFailure {
  package init(_ end: DevicePolling.End) {
    switch end {
    case .denied: self = .signIn(.denied)
    case .expired: self = .signIn(.expired)
    case .unknownCode: self = .signIn(.deviceCodeUnknown)
    case .answerLost: self = .signIn(.exchange(.unknownOutcome("lost")))
    case .failed(let failure): self = .signIn(.exchange(failure))
    }
  }

  package init(_ failure: RedirectFailure) {
    switch failure {
    case .portBusy(let port): self = .signIn(.portBusy(port))
    case .notLoopback: self = .provider(.redirectNotLoopback)
    case .unavailable: self = .signIn(.noListener)
    }
  }
}
