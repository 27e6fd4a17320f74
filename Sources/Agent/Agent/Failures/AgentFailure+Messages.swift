internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentVault

/// The message of a failure to a person: what happened, what was kept, what to do. It never echoes input.
extension AgentFailure {
  package var message: String {
    switch self {
    case .locked, .vault(.locked, _): "The vault is locked. Unlock it and try again; nothing was lost."
    case .shuttingDown: "The agent is ending. Nothing was changed; try again when it is back."
    case .cancelled: "The request was cancelled. Work that an account owns goes on, so that no token is lost."
    case .timedOut:
      "The time that the request allowed ran out. Work that the account owns goes on; ask again for its result."
    case .overloaded(let what, _): "A bound was reached: \(what). Wait a moment and try again."
    case .invalidParameter: "A parameter is not as the method wants it: see data.path and data.expected."
    case .unsupportedProtocol: "This agent speaks another version of the protocol. See data.supported."
    case .notFound(let thing, _): thing.message
    case .caller(let failure): failure.message
    case .accountNotFound:
      "There is no such account. `account.list` names those that are there; nothing was changed."
    case .noActiveAccount: "No account is active. Choose one by `account.switch`, or name it."
    case .activeAccountDamaged:
      "The record that names the active account does not open. Choose one by `account.switch`, or name it; no account is touched."
    case .accountAmbiguous: "Several accounts match. Name one of the candidates by its id."
    case .signedOut(_, let use): use.message
    case .dataSealed:
      "This account is signed out, and its data is kept sealed. Sign in again as the same person to open it."
    case .dataUnderPIN, .vault(.dataLocked, _):
      "This account's data is locked by its PIN since it was signed out. `stepUp.verify` opens it."
    case .token(let refusal, _): refusal.message
    case .wouldNarrow:
      """
      A token with fewer scopes might cost this account its other scopes for good, so none was requested. Request it \
      without `exactScopes` for the token with all scopes, or set the provider's `narrowing` to `keeps` if it keeps them.
      """
    case .rights(let failure, _): failure.message
    case .signIn(let failure): failure.message
    case .stepUp(let failure, _, let method): failure.message(method.noun)
    case .policyInvalid:
      "The policy is not as its schema wants it; data.problems says where. Nothing was changed."
    case .provider(let failure): failure.message
    case .vault(.integrity, _):
      "A sealed record of this account does not open, or is not what its head says. Other accounts are not touched; sign in again to replace it."
    case .vault(.store(let failure), _): failure.message
    case .passphrase(let failure): failure.message
    case .keySlot(let failure): failure.message
    case .key(let failure, let protection): failure.message(of: protection)
    case .keyGone(let protection): KeySourceFailure.missingKeyMessage(of: protection)
    case .vaultExists: "The vault is there already. Unlock it; nothing was changed."
    case .vaultDamaged: "The vault's own records do not open. Restore the store from a backup."
    case .rolledBack:
      """
      This store is an older copy of itself: what was written after it is missing, and its refresh tokens may be spent. \
      Nothing of it was used or sent. Put the newest copy back; if there is none, start the agent once with \
      --accept-old-store, which signs every account in it out.
      """
    case .anchorDamaged:
      """
      The anchor outside this store holds a count that no store reaches, so it is damaged. Nothing of the store was \
      used, sent or changed, and --accept-old-store does not help. Remove the store's file in \
      ~/.config/lanyard/anchors (after a restart of the machine nothing else holds the count), then start the agent \
      again.
      """
    case .auditDamaged:
      "An entry of the audit log does not open. `audit.verify` says where; accounts and tokens are not touched."
    case .backup(let failure): failure.message
    }
  }
}

extension MissingThing {
  fileprivate var message: String {
    switch self {
    case .signIn: "There is no such sign-in: it ended some time ago, or was never begun. Begin a new one."
    case .revocation: "There is no such revocation: it was confirmed, abandoned, or never queued."
    case .keySlot: "There is no such key slot. `agent.listKeySlots` names those that are there."
    case .secret: "This account keeps no value under that name."
    case .policy: "There is no policy of this name. `policy.list` names those that are there."
    case .callerGrant: "There is no such grant: it was revoked, has ended, or was never made."
    case .subscription: "This connection has no such subscription."
    case .snapshot: "Nothing is known yet of what this account may do. `snapshot.refresh` asks its provider."
    case .file: "There is no such file. Nothing was changed."
    case .stepUp(let method): "This account has no \(method.noun). `stepUp.enroll` sets one."
    }
  }
}

extension CallerFailure {
  fileprivate var message: String {
    switch self {
    case .notCovered:
      "The grant of this connection does not cover this. Nothing was done; the person who made it can make another."
    case .grantNeeded:
      "This agent serves only callers with a grant. Say yours in `agent.hello`; the person makes one by `lanyard grant create`."
    case .grantRefused:
      "This connection's grant was not taken, has ended, or was revoked. Nothing is done on it any more: connect again."
    }
  }
}

extension SignedOutUse {
  fileprivate var message: String {
    switch self {
    case .use: "This account is signed out. Sign in again first; nothing was changed."
    case .signOut: "This account is signed out already. Nothing was changed."
    case .activation: "This account is signed out. Sign in again before it can be the active one."
    case .erasedData: "This account is signed out, and its data was erased."
    }
  }
}

extension TokenMachine.Refusal {
  fileprivate var message: String {
    switch self {
    case .signedOut: "This account is signed out. Sign in again to use it."
    case .reauthenticate:
      "The provider no longer takes this account's refresh token. Sign in again; the account and its data are kept."
    case .locked:
      "The provider says that this account is disabled. Its administrator can tell more; nothing was deleted."
    case .interaction:
      "The provider wants the person for this: sign in once more to go on. Other tokens still work."
    case .misconfigured:
      "The provider refuses this client's configuration. Mend it by `provider.update`; nothing was deleted."
    case .offline: "There is no way to the provider, and no token that is still good. The session is kept."
    case .untrustedServer(let reason): reason.message + " Nothing was sent to it; the session is kept."
    case .unavailable: "The provider could not answer now. The session is kept; try again later."
    case .store: StoreFailure.inputOutput.message
    }
  }
}

extension TrustFailure {
  fileprivate var message: String {
    switch self {
    case .unknownAuthority:
      "The provider could not be trusted: this machine does not know the authority of its certificate. A private authority is trusted once its file is named, as `caFile`."
    case .wrongName: "The provider could not be trusted: its certificate is for another host."
    case .expired:
      "The provider could not be trusted: its certificate is not valid now. It has expired, or this machine's clock is wrong."
    case .pinMismatch: "The provider could not be trusted: no pinned key is the server's."
    case .tls: "The provider could not be trusted: TLS failed."
    }
  }
}

extension RightsFailure {
  fileprivate var message: String {
    switch self {
    case .noAccessToken: "There is no access token to ask with now. The last snapshot is kept; try again later."
    case .untrusted(let reason): reason.message + " Nothing was sent to it; the last snapshot is kept."
    case .offline: "There is no way to where the provider tells what the person may do. The last snapshot is kept."
    case .unavailable: "The provider could not tell what the person may do. The last snapshot is kept; try again later."
    case .refused:
      "The provider's answer does not tell what this person may do. The last snapshot is kept; mend the provider's `authorization` by `provider.update`."
    }
  }
}

extension SignInFailure {
  fileprivate var message: String {
    switch self {
    case .expired: "The person did not sign in in time. Begin again; nothing was changed."
    case .cancelled: "The sign-in was cancelled. Nothing was changed."
    case .denied, .answer(.denied): "The sign-in was denied at the provider. Nothing was changed."
    case .otherPerson:
      "Another person signed in than the one whose account was named. Nothing of that account was changed."
    case .identity(.tenantMissing): "The provider named no tenant where one was expected. Nothing was kept."
    case .answer(.unreadable): "The provider's answer could not be read. Nothing was kept; begin again."
    case .answer(.withoutCode): "The provider's answer has no code. Nothing was kept; begin again."
    case .pastedNoAnswer:
      "This is neither the address to which the browser was sent back, nor the code in it. Nothing was kept."
    case .answer(.stateMismatch):
      "The answer does not belong to this sign-in. Nothing was kept; if you did not start it, another person did."
    case .answer(.issuerMismatch): "The answer is from another provider than the one asked. Nothing was kept."
    case .answer(.refused): "The provider refused the sign-in. Nothing was kept."
    case .identity(.idTokenMissing): "The provider sent no ID token. Nothing was kept."
    case .identity(.idTokenInvalid(let failure)):
      "The provider's ID token can't be believed (\(failure.rawValue)). Nothing was kept."
    case .identity(.subjectMissing), .identity(.notNamed): "The provider did not say who signed in. Nothing was kept."
    case .identity(.noEndpoint): "The provider says nowhere who signed in. Nothing was kept."
    case .notATokenResponse: "The provider's answer is no token response. Nothing was kept."
    case .identity(.accessTokenMissing): "The provider sent no access token. Nothing was kept."
    case .deviceFlowUnsupported:
      "This provider offers no sign-in by device code. Sign in by browser or paste, or give its deviceAuthorization endpoint by `provider.update`."
    case .invalidDeviceAnswer: "The provider's answer names no code and no page for it. Nothing was kept."
    case .deviceCodeUnknown: "The provider does not know the code any more. Nothing was kept; begin again."
    case .portBusy(let port):
      "Port \(port), where this provider's answers come back, is used by another program. Free it and try again."
    case .noListener: "No address could be opened for the browser to come back to."
    case .exchange(let failure): failure.signInMessage
    case .answerRejected(let failure, _): failure.message
    case .importedTokenSpent(let failure): failure.message + " The token that was given is used up."
    }
  }
}

extension ExchangeFailure {
  fileprivate var signInMessage: String {
    switch self {
    case .offline: "There is no way to the provider. Nothing was kept; try again when you are online."
    case .untrustedServer(let reason): reason.message + " Nothing was sent to it, and nothing was kept."
    case .transient: "The provider could not answer now. Nothing was kept; try again later."
    case .misconfigured: "The provider refuses this client's configuration. Mend it by `provider.update`."
    case .unexplained(let status, _):
      "The provider refused, with status \(status), and did not say why. Nothing was kept."
    case .unknownOutcome: "The provider's answer was lost. Nothing was kept; sign in again."
    case .reauthenticate, .locked, .interaction, .store: "The provider refused. Nothing was kept; sign in again."
    }
  }
}

extension StepUpFailure {
  fileprivate func message(_ noun: String) -> String {
    switch self {
    case .wrong(let left):
      "The \(noun) is wrong. \(left == 1 ? "One more wrong one destroys it" : "\(left) more wrong ones destroy it"), and data that is locked by it."
    case .destroyed:
      "The \(noun) was tried too often and is destroyed; data that was locked by it is gone for good. Sign in again, then set a new \(noun)."
    case .unavailable: "There was not enough memory to make a key from the \(noun). Try again."
    case .throttled: "Several wrong \(noun)s came one after another. This one was not tried; wait a moment."
    case .required: "A \(noun) is set, and changing or removing it takes that one first: `stepUp.verify`."
    case .recentSignInRequired:
      "The first \(noun) of an account can be set within ten minutes after its person signed in (`lanyard login`), or typed in the agent's own prompt (`lanyard step-up --enroll --pinentry`). Nothing was changed."
    case .prompt(.cancelled, _): "The question for the PIN was closed. Nothing was tried."
    case .prompt(.timedOut, _): "The PIN was not typed in time. Nothing was tried."
    case .prompt(.unavailable, _): PromptFailure.unavailableMessage
    case .badLength: "A PIN has 1 to 256 bytes. Nothing was tried."
    }
  }
}

extension PromptFailure {
  fileprivate static let unavailableMessage =
    "The person can't be asked here: pinentry is not installed, or has nowhere to show itself."
}

extension PassphraseFailure {
  fileprivate var message: String {
    switch self {
    case .wrong: "This does not open the vault. Nothing was changed; try again."
    case .noSlot: "No passphrase opens this vault. `agent.initialize` makes a new one where there is none."
    case .prompt(.cancelled): "The question for the passphrase was closed. Nothing was changed."
    case .prompt(.timedOut): "The passphrase was not typed in time. Nothing was changed."
    case .prompt(.unavailable): PromptFailure.unavailableMessage
    case .badLength: "A passphrase has 1 to 1024 bytes. Nothing was changed."
    case .noMemory: "There was not enough memory to make a key from the passphrase."
    }
  }
}

extension DocumentFailure {
  fileprivate var message: String {
    switch self {
    case .offline: "There is no way to the provider. Nothing was changed; try again when you are online."
    case .untrusted(let reason): reason.message + " Nothing was changed."
    case .unavailable where isTemporary:
      "The provider could not answer now. Nothing was changed; try again later."
    case .unavailable, .malformed:
      "There is no discovery document of this issuer. Check the issuer, or give the endpoints yourself."
    }
  }
}

extension ProviderFailure {
  private static let byHand =
    "Register one there, as a native or desktop application with the redirect http://127.0.0.1/callback, and give its clientId."

  fileprivate var message: String {
    switch self {
    case .notFound: "There is no provider of this name. `provider.list` names those that are there."
    case .damaged:
      "The record of this provider does not open. Its accounts wait for it; others are not touched. Add the provider again under its name, or restore the store from a backup."
    case .inUse:
      "Accounts still belong to this provider. Sign them out and forget them first; nothing was changed."
    case .document(let failure), .clientIDMissing(.document(let failure)): failure.message
    case .clientIDMissing(.notOffered): "This provider registers no programs by itself. " + Self.byHand
    case .registration(.offline): DocumentFailure.offline.message
    case .registration(.untrusted(let reason)): DocumentFailure.untrusted(reason).message
    case .registration(.unsuitable): "The provider registered a client that this agent can't be. " + Self.byHand
    case .registration(.refused): "The provider does not let this agent register itself. " + Self.byHand
    case .registration(.answerLost), .registration(.unavailable):
      "The provider could not answer now. Nothing was changed; try again later."
    case .noAuthorizationEndpoint: "This provider has no authorization endpoint."
    case .noSignInEndpoints:
      "This provider has no authorization or token endpoint. Give them by `provider.update`."
    case .noPushEndpoint:
      "This provider takes only pushed authorization requests and does not say where. Give the endpoint pushedAuthorizationRequest by `provider.update`."
    case .pushEndpointGone:
      "This provider takes only pushed authorization requests, and there is no such endpoint where it says. Give the endpoint pushedAuthorizationRequest by `provider.update`."
    case .pushRefused:
      "The provider does not take this sign-in: what is asked for is not what it knows of this client. Mend it by `provider.update`."
    case .redirectNotLoopback: "The redirect host is not a loopback address. Mend it by `provider.update`."
    }
  }
}

extension KeySlotFailure {
  fileprivate var message: String {
    switch self {
    case .damaged: "The key slot is damaged. Open the vault by another, or restore a backup."
    case .costsOutOfBounds:
      "The passphrase slot asks for costs outside the bounds. It is refused, not weakened."
    case .unknown:
      "A key slot is not one that this vault made: the store was changed from outside. The slot opened nothing."
    case .changed(let number):
      "Key slot \(number) is not as this vault knows it. Open the vault by it once, or remove it first."
    case .last: "This is the only way to the vault. Add another one first; nothing was changed."
    case .tooMany, .noKeySource, .taken:
      "A parameter is not as the method wants it: see data.path and data.expected."
    }
  }
}

extension BackupFailure {
  fileprivate var message: String {
    switch self {
    case .file(.noPath): "The path must be absolute, and name a file."
    case .file(.exists): "Something stands at this path already. It was not touched; name another file."
    case .file(.noDirectory):
      "There is no such directory, or a symbolic link stands in its place. Nothing was written."
    case .file(.notFound): "There is no such file. Nothing was changed."
    case .file(.forbidden): "You may not read or write there. Nothing was changed."
    case .notABackup, .file(.notABackup): "This is no backup of Lanyard. Nothing was changed."
    case .newer:
      "A later version of the agent wrote this backup. Update the agent; nothing was changed."
    case .damaged:
      "The backup is damaged, or is not what was written. Nothing was changed; use another copy of it."
    case .wrongPassphrase: "This passphrase does not open the backup. Nothing was changed; try again."
    case .noMemory: "There was not enough memory to make a key from the passphrase."
    case .store(let failure), .file(.store(let failure)):
      "This could not be done: \(failure.cause). No half file is left, and nothing was lost."
    case .overtaken:
      "While the backup was written an account was signed out or erased, or a PIN was set. No backup was kept; make it again."
    }
  }
}

extension StoreFailure {
  fileprivate var message: String {
    guard self != .missing else {
      return """
        The store's files were removed or replaced under the running agent, so nothing can be written. What is cached \
        is still served. Put the state directory back, or end the agent (`lanyard rpc agent.shutdown`): the next start \
        says what to do.
        """
    }
    return "The store can't be used now: \(cause). Nothing was lost; what is cached is still served."
  }

  fileprivate var cause: String {
    switch self {
    case .full: "the disk is full"
    case .readOnly: "it can only be read"
    case .inputOutput: "the disk reported an error"
    case .corrupt: "the file is damaged"
    case .busy: "another program holds it"
    case .closed: "it is closed"
    case .unsafePermissions: "others could read or replace its files"
    case .missing: "its files are gone"
    case .newerSchema: "a later version of the agent wrote it"
    }
  }
}
