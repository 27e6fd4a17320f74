internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentVault

/// The messages of a failed sign-in to a person.
extension SignInFailure {
  var message: String {
    switch self {
    case .expired(_, nil): "The person did not sign in in time. Begin again; nothing was changed."
    case .expired(let refused, .foreignState?):
      """
      The person did not sign in in time. \(refused == 1 ? "An answer" : "\(refused) answers") to no \
      sign-in of this agent came meanwhile: another program may try to answer, or the provider leaves out `state`. \
      Begin again; nothing was changed.
      """
    case .expired(let refused, let last?):
      """
      The person did not sign in in time. \(refused == 1 ? "A request" : "\(refused) requests") to the address where the \
      answer comes back could not be taken: \(last.meaning). Begin again; nothing was changed.
      """
    case .cancelled:
      "The sign-in was cancelled: by a program, or because the vault was locked or its provider changed. Nothing was changed."
    case .denied, .answer(.denied):
      "The sign-in was denied at the provider, by you or by its rules: it may have disabled the account, and its page in the browser may say more. Nothing was changed."
    case .otherPerson:
      "Another person signed in than the one whose account was named. Nothing of that account was changed."
    case .installationRefused(TokenMachine.installationSuspended):
      "This installation of the app is suspended. Nothing was kept; have it unsuspended in its settings at the provider."
    case .installationRefused:
      "The provider knows no such installation of this app. Nothing was kept; correct `installation`, or install the app again."
    case .secretRefused: "The provider refuses this secret. Nothing was kept; make another one on the provider's page."
    case .secretOfAnother(let taker):
      "\(taker.refusal); `lanyard login` adds this one as an account of its own."
    case .identity(.tenantMissing): "The provider named no tenant where one was expected. Nothing was kept."
    case .answer(.unreadable): "The provider's answer could not be read. Nothing was kept; begin again."
    case .answer(.withoutCode): "The provider's answer has no code. Nothing was kept; begin again."
    case .pastedNoAnswer:
      "This is neither the address to which the browser was sent back, nor the code in it. Nothing was kept."
    case .codeWithoutState:
      "At this provider a code alone does not show which sign-in it belongs to. Paste the whole address to which the browser was sent back. Nothing was kept."
    case .answer(.anotherAddress):
      "This is not the address to which this sign-in sends the browser back. Nothing was kept; paste the whole address from the page that this sign-in opened."
    case .wholeAddressNeeded:
      "This agent has other providers too, and a part of the address does not show which one it comes from. Paste the whole address to which the browser was sent back. Nothing was kept."
    case .answer(.stateMismatch):
      "The answer does not belong to this sign-in. Nothing was kept; if you did not start it, another person did."
    case .answer(.refused(AuthorizationAnswer.authorizationDetailsRefused)): AuthorizationDetails.refusal
    case .answer(.refused("unmet_authentication_requirements")):
      "The provider can't authenticate you in the way that the sign-in asked for. Nothing was kept."
    case .answer(.issuerMismatch):
      "The answer does not prove that it comes from this provider. Nothing was kept."
    case .answer(.refused("invalid_scope")):
      "The provider does not give this client all of the scopes that were asked for. Nothing was kept; ask for others."
    case .answer(.refused): "The provider refused the sign-in. Nothing was kept."
    case .identity(.idTokenMissing): "The provider sent no ID token. Nothing was kept."
    case .identity(.idTokenInvalid(.authTimeMissing)):
      "The provider did not say when you signed in there, though the sign-in asked how long ago that may be. Nothing was kept."
    case .identity(.idTokenInvalid(.authenticationTooOld)):
      "You signed in at the provider longer ago than the sign-in allows. Nothing was kept; sign in again, and give your password at the provider."
    case .identity(.idTokenInvalid(.contextMissing)), .identity(.idTokenInvalid(.contextMismatch)):
      "The provider did not authenticate you in the way that the sign-in asked for. Nothing was kept."
    case .identity(.idTokenInvalid(let failure)):
      "The provider's ID token is not valid (\(failure.rawValue)). Nothing was kept."
    case .identity(.keysUnread(let failure)):
      "The keys that prove who signed in could not be read: \(failure.cause). Nothing was kept."
    case .identity(.keySetUnnamed(let found?)):
      "The provider's ID token can't be verified: in its document \(found), which is no whole https address. Nothing was kept. Ask the administrator of the server, or give the endpoint by `provider.update`."
    case .identity(.keySetUnnamed(nil)):
      "The provider's ID token can't be verified: the provider names no key set (`jwks_uri`). Nothing was kept. Give the endpoint by `provider.update`."
    case .identity(.subjectMissing): "The provider did not say who signed in. Nothing was kept."
    case .identity(.notNamed(let answer)): answer.message + " Nothing was kept."
    case .identity(.noEndpoint):
      "The provider has no userinfo endpoint, so it does not say who signed in. Nothing was kept."
    case .notATokenResponse: "The provider's answer is not a token response. Nothing was kept."
    case .unknownTokenType(let told):
      "In the provider's answer `token_type` is \(told), and this agent knows `Bearer` and `DPoP`. Nothing was kept."
    case .boundUnasked:
      """
      In the provider's answer `token_type` is `DPoP`, which binds the token to a key, and the agent sent none: the \
      provider's document does not offer it (`dpop_signing_alg_values_supported`). Nothing was kept. With `--dpop \
      required` for this provider the agent sends one.
      """
    case .notBound:
      "This provider is configured to give only tokens that are bound to a key of this machine (`--dpop required`), and these would be bearer tokens. Nothing was kept."
    case .identity(.accessTokenMissing): "The provider sent no access token. Nothing was kept."
    case .deviceFlowUnsupported:
      "This provider offers no sign-in by device code. Sign in by browser or paste, or give its device authorization endpoint by `provider.update`."
    case .invalidDeviceAnswer:
      "The provider's answer names no code and no page for it. Or a sign-in page of the network answered instead of it: open any page in a browser. Nothing was kept."
    case .deviceCodeUnknown: "The provider does not know the code any more. Nothing was kept; begin again."
    case .portBusy(let port):
      "Port \(port), where this provider's answers come back, is used by another program. Free it and try again."
    case .noListener: "No address could be opened for the browser to come back to."
    case .tooMany(let count, let isOfThisProgram):
      """
      \(count) sign-ins\(isOfThisProgram ? " of this program" : "") are in progress, and the agent begins no more. \
      Finish one, or cancel it: in a terminal, by Ctrl-C in its `lanyard login`. Each ends by itself within ten \
      minutes.
      """
    case .exchange(let failure): failure.signInMessage
    case .answerRejected(let failure, _): failure.message
    case .importedBefore:
      "This refresh token was taken over before, and the provider refuses it now: it is used up. Nothing was kept; sign in again."
    case .importedTokenSpent(let failure):
      failure.causeOfSpentToken + " The imported token is used up: sign in again, or import a newer one."
    }
  }
}

extension AgentFailure {
  /// Why no account came of a refresh token that the provider has exchanged: nothing passes or can be tried again.
  fileprivate var causeOfSpentToken: String {
    switch self {
    case .locked, .vault(.locked, _): "The vault was locked before the account was stored."
    case .shuttingDown: "The agent ended before the account was stored."
    case .signIn(.exchange(.unknownOutcome)): "The provider's answer to an import of this token was lost."
    case _ where storeFailure != nil: "The disk did not take the account."
    default: message
    }
  }
}

extension SecretTaker {
  fileprivate var refusal: String {
    switch self {
    case .signedIn: "The secret belongs to another person than the account. The account keeps the secret that it has"
    case .signedOut: "The secret belongs to another person than the account. The account stays signed out"
    case .signedOutUnproven:
      "This is not the secret that the account had, and the provider does not say whose it is. The account stays signed out"
    }
  }
}

extension UnnamedPerson {
  fileprivate var message: String {
    switch self {
    case .document(let failure): "The provider did not say who signed in: \(failure.cause)."
    case .userInfo(.malformed): "The provider did not say who signed in: its userinfo is no JSON object."
    case .userInfo(.encrypted):
      "The provider did not say who signed in: its userinfo is encrypted. Ask the administrator of the server to send it signed or as JSON to this client."
    case .userInfo(.unproven(let failure)):
      "The provider's userinfo is signed, and the agent does not believe it (\(failure.rawValue))."
    case .userInfo(.keysUnread(let failure)):
      "The provider's userinfo is signed, and its keys could not be read: \(failure.cause)."
    case .members(let found):
      "The provider did not say who signed in: its userinfo has no text `sub` or `id` at its top. It has \(found)."
    case .introspection: "The provider did not say who signed in: it does not name the person of this token."
    }
  }
}

extension DocumentFailure {
  /// Why a document could not be read, as a clause.
  package var cause: String {
    switch self {
    case .offline(.proxy(let failure)): "the proxy \(failure.address) makes no connection to the server"
    case .offline(.noLibrary(let library)): "the library \(library.name) is missing on this machine"
    case .offline: "the server can't be reached"
    case .untrusted: "the server could not be trusted"
    case .unavailable(status: 0, _): "no answer came"
    case .unavailable(let status, _): "the server answered with status \(status)"
    case .malformed, .page: "the answer is not what it should be, and a sign-in page of the network may have given it"
    case .issuerMismatch: "it names another issuer"
    case .redirected(let origin): "the address \(Self.leads(to: origin))"
    }
  }
}

extension ExchangeFailure {
  var signInMessage: String {
    switch self {
    case .offline(.proxy(let failure)): "\(failure.explanation) Nothing was kept."
    case .offline(.noLibrary(let library)): "\(library.missing) Nothing was kept."
    case .offline:
      "The provider can't be reached. Nothing was kept."
    case .untrustedServer(let reason): reason.message + " Nothing was sent to it, and nothing was kept."
    case .transient(let word, _) where FailureClassifier.mayBeOfAPortal(word):
      "A page came instead of the provider's answer, as the sign-in page of a network does: open any page in a browser. Nothing was kept; try again then."
    case .transient: "The provider could not answer now. Nothing was kept; try again later."
    case .misconfigured(AuthorizationAnswer.authorizationDetailsRefused): AuthorizationDetails.refusal
    case .misconfigured("invalid_scope"):
      "The provider does not give this client all of the scopes that were asked for. Nothing was kept; ask for others."
    case .misconfigured("invalid_client"):
      "The provider does not accept this client's id or its secret. Correct them by `provider.update`; nothing was kept."
    case .misconfigured(ProviderClient.noSubject):
      "The provider's answer does not say whose secret it is: it refuses the secret, or names the person elsewhere than `whoami` says. Nothing was kept; try another secret, or correct the provider by `lanyard provider update`."
    case .misconfigured: "The provider refuses this client's configuration. Correct it by `provider.update`."
    case .unexplained(let status, _):
      "The provider refused, with status \(status), and did not say why. Nothing was kept."
    case .unknownOutcome: "The provider's answer was lost. Nothing was kept; sign in again."
    case .reauthenticate, .locked, .interaction, .store: "The provider refused. Nothing was kept; sign in again."
    }
  }
}

extension RedirectRefusal {
  /// For a person, after a colon.
  var meaning: String {
    switch self {
    case .anotherUser: "it was another user's of this machine"
    case .anotherPath: "its path is another one than this sign-in's"
    case .anotherMethod: "it was no GET"
    case .tooLarge: "the browser's cookies for this machine are larger than 64 KiB; delete them, or use `--paste`"
    case .malformed: "it was no request that can be read"
    case .foreignState: "it belongs to no sign-in of this agent"
    }
  }
}
