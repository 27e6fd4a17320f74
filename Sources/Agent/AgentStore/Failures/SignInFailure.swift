package import AgentCore
package import AgentOAuth
package import AgentPorts

/// The account to which a secret was given that is not of its person.
package enum SecretTaker: Sendable {
  case signedIn, signedOut
  /// Signed out, and no provider says whose a secret is: only the same secret is known to be of the same person.
  case signedOutUnproven
}

/// Why a sign-in brought no account. Nothing of it was kept.
package enum SignInFailure: Sendable {
  /// The person did not sign in in time. `refused`: requests that came to the redirect URI and were no answer to this
  /// sign-in; `last`: why the last of them was refused.
  case expired(refused: Int, last: RedirectRefusal?)
  case cancelled
  /// The person, or the provider for them, said no to the device code.
  case denied
  /// Another person signed in than the account's.
  case otherPerson
  /// The provider does not stand by a secret that was to be kept.
  case secretRefused
  /// The installation of a GitHub App is gone or suspended; the reason.
  case installationRefused(String)
  /// A secret that was given to an account is not of its person.
  case secretOfAnother(SecretTaker)
  /// The answer of the authorization endpoint brings no code.
  case answer(AuthorizationFailure)
  /// The pasted text is neither an address nor a code.
  case pastedNoAnswer
  /// A person brought a code alone, and the provider has nothing that ties it to this sign-in.
  case codeWithoutState
  /// A person brought a part of the address that another provider's answer could have, too.
  case wholeAddressNeeded
  /// The tokens do not prove who signed in.
  case identity(IdentityFailure)
  case notATokenResponse
  /// The access token is of a type that this agent must not use (RFC 6749 §7.1).
  case unknownTokenType(String)
  /// The access token is bound to a key (RFC 9449), and the request named none.
  case boundUnasked
  /// The provider's accounts are to have bound tokens, and these would be bearer tokens.
  case notBound
  case deviceFlowUnsupported
  case invalidDeviceAnswer
  /// The provider no longer knows the device code.
  case deviceCodeUnknown
  case portBusy(UInt16)
  case noListener
  /// So many are in progress already, of all programs or of the one that asks.
  case tooMany(Int, ofThisProgram: Bool)
  /// The token endpoint gave no tokens.
  case exchange(ExchangeFailure)
  /// The answer that was brought is none; the right one may still be.
  indirect case answerRejected(AgentFailure, attemptsLeft: Int)
  /// The provider refuses a refresh token that was imported before.
  case importedBefore
  /// The refresh token that was imported is spent, and no account came of it.
  indirect case importedTokenSpent(AgentFailure)
}

extension AgentFailure {
  package init(_ end: DevicePolling.End) {
    switch end {
    case .denied: self = .signIn(.denied)
    case .expired: self = .signIn(.expired(refused: 0, last: nil))
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
