internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts

/// The message of a refused token to a person.
extension TokenMachine.Refusal {
  var message: String {
    switch self {
    case .signedOut: "This account is signed out. Sign in again to use it."
    case .reauthenticate(let reason) where Self.anotherPerson.contains(reason):
      """
      The provider answered for another person, so nothing of its answer was kept. Sign in again as \
      this account's person; the account and its data are kept.
      """
    case .reauthenticate(TokenMachine.outcomeUnknown):
      """
      No answer came to a refresh, or one that leaves its outcome open, so the provider may have spent this account's \
      refresh token. Sign in again; the account and its data are kept.
      """
    case .reauthenticate(TokenMachine.unexplainedRefusal):
      """
      The provider refused to refresh this account's token several times, with answers that do not say why. Sign in \
      again; the account and its data are kept.
      """
    case .reauthenticate(TokenMachine.noRefreshToken):
      "The account has no refresh token. Sign in again; the account and its data are kept."
    case .reauthenticate(TokenMachine.secretRefused):
      """
      The provider refuses this account's secret. Make another one on its page, and give it by `lanyard rotate ACCOUNT`; \
      the account and its data are kept.
      """
    case .reauthenticate(TokenMachine.secretExpired):
      """
      This account's secret has ended, as was told when it was added. Give another one by `lanyard rotate ACCOUNT`; the \
      account and its data are kept.
      """
    case .reauthenticate(TokenMachine.identityMismatch):
      """
      The provider says that this account's secret is another person's. Give one of this person by `lanyard rotate \
      ACCOUNT`; the account and its data are kept.
      """
    case .reauthenticate(TokenMachine.installationSuspended):
      """
      This installation of the app is suspended. Have it unsuspended in its settings at the provider; the account and its \
      data are kept.
      """
    case .reauthenticate(TokenMachine.installationUnknown):
      """
      The provider knows this installation of the app no more. Install the app again, and add the provider with the new \
      number; the account and its data are kept.
      """
    case .reauthenticate:
      "The provider no longer takes this account's refresh token. Sign in again; the account and its data are kept."
    case .locked:
      "The provider says that this account is disabled. Its administrator can tell more; nothing was deleted."
    case .interaction:
      """
      The person has to sign in again: the provider demands it, or the server refused even a token that was just \
      refreshed. The session is kept, and other tokens still work.
      """
    case .misconfigured(TokenMachine.notBound):
      "The provider gave a bearer token, and only tokens that are bound to a key of this machine are served (`--dpop required`). Its administrator can turn DPoP on; the session is kept."
    case .misconfigured(TokenMachine.notSupported):
      """
      This account holds a key or a password. It is the same for all scopes and resources, lives no longer on request, \
      and has no ID token. Ask for it without these; nothing was deleted.
      """
    case .misconfigured(TokenMachine.noRefreshToken):
      """
      The provider gave no refresh token at the sign-in, so there is no other token than the one that it gave: none with \
      other scopes, for another resource, or newer. That one is kept and served. \
      `lanyard login --account ACCOUNT --scope SCOPE` signs in for that scope, too.
      """
    case .misconfigured(AuthorizationAnswer.authorizationDetailsRefused):
      "The provider does not take the authorization details that were asked for. Ask for others; nothing was deleted."
    case .misconfigured("invalid_scope"):
      "The provider does not give this client all of the scopes that were asked for. Ask for others, or have them allowed at the provider; nothing was deleted."
    case .misconfigured("invalid_target"):
      "The provider gives no token for the resource that was asked for. Nothing was deleted."
    case .misconfigured("invalid_client"):
      "The provider does not accept this client's id or its secret. Correct them by `provider.update`; nothing was deleted."
    case .misconfigured(ProviderClient.noSubject):
      "The provider's answer does not say in a form that can be believed whose secret it is. The secret is kept and served; tell the provider, or correct it by `lanyard provider update`."
    case .misconfigured:
      "The provider refuses this client's configuration. Correct it by `provider.update`; nothing was deleted."
    case .offline(.proxy(let failure), _): "\(failure.explanation) There is no new token; the session is kept."
    case .offline(.noLibrary(let library), _): "\(library.missing) There is no new token; the session is kept."
    case .offline: "The provider can't be reached, so there is no new token. The session is kept."
    case .untrustedServer(let reason): reason.message + " Nothing was sent to it; the session is kept."
    case .unavailable:
      """
      The provider gave no token that can be used: it could not answer now, its answer can't be read, or the sign-in \
      page of a network came instead. The session is kept; try again later.
      """
    case .noAnswer(.stillWaiting):
      """
      The provider has not answered yet. The session is kept: the agent goes on waiting for the answer and keeps the \
      token that it brings. Try again in a moment.
      """
    case .noAnswer(.ended):
      "No answer came from the provider. The session is kept; try again later."
    case .noAnswer(.inDoubt):
      """
      No answer came to the last refresh, so it is not known whether the provider took it. The session is kept: once \
      the provider answers again, the agent sends the refresh once more. Try again later.
      """
    case .noAnswer(.unclear):
      """
      The provider answered the last refresh with an error, or with what can't be read, which leaves open whether it took \
      the refresh token. The session is kept: the agent sends the refresh once more. Try again later.
      """
    case .store: StoreFailure.inputOutput.message
    }
  }

  /// The ID token of the answer names another issuer or another person (OpenID Connect Core §12.2).
  private static let anotherPerson: Set<String> = Set(
    [.issuerChanged, .subjectChanged].map { (failure: IDTokenFailure) in failure.rawValue })
}
