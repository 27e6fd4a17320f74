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
    case .notBound:
      "This account's tokens are bearer tokens: there is no key to prove. Its provider would have to offer DPoP, and the account to sign in again."
    case .wouldNarrow(_, .details):
      """
      This account's tokens carry authorization details of a type that the caller's grant does not name, so none was given. Make a \
      grant with `lanyard grant create --details-type TYPE`, or one that names neither scopes nor resources.
      """
    case .wouldNarrow:
      """
      A token with fewer scopes might cost this account its other scopes for good, so none was given. A request that \
      does not insist on fewer gets the token with all scopes, without a grant that names scopes. If this provider \
      keeps an account's other scopes, say so once: `lanyard provider update NAME --narrowing keeps`.
      """
    case .identityLacks(.noIDToken, _):
      "The provider gives no ID token that is valid long enough when the session is refreshed. Access tokens are not affected; sign in again by `signIn.begin` for a new one."
    case .identityLacks(.invalidIDToken, _):
      "The ID token that the provider gave does not pass the checks, so it was discarded. Access tokens are not affected."
    case .roleRefused("InvalidIdentityToken", _), .roleRefused("ExpiredTokenException", _):
      """
      The Security Token Service does not take the ID token of this account. In AWS, an identity provider for its issuer \
      and client must be there, and the role must trust it.
      """
    case .roleRefused(let code, _):
      "The Security Token Service refuses the role: \(code). Check the role's name, and that it trusts this account's provider."
    case .rights(let failure, _): failure.message
    case .originNotAllowed:
      "The account's provider does not list this origin, so nothing was sent. Add it: `lanyard provider update NAME --allowed-origin ORIGIN`."
    case .operationNotFound:
      """
      No such operation can be had: it was cancelled, its claim has ended, none fits, or the policy allows none now, as \
      with a clock that is suspect. `operation.list` names those that are there; `policy.explain` says what is allowed.
      """
    case .queueFull:
      """
      The queue is full: nothing was stored, and nothing that waits was lost. Try again when some operations were \
      delivered. `operation.list` shows which wait for the person; `operation.cancel` takes one out.
      """
    case .denied(let recorded) where recorded.decision.retryAfter != nil:
      "The policy allows this only so often in an hour, and that is used up; data.decision says when it is allowed again. Nothing was sent or changed."
    case .denied: "The policy does not allow this now; data.decision says why. Nothing was stored or changed."
    case .challenged: "The resource server demands that the person signs in again as data tells."
    case .request(let failure, _, _): failure.message
    case .sentBefore(.request, _):
      "The server refused the first sending, and the request could not be sent again. Whether the server has carried the first one out is not known."
    case .unsent(let failure), .sentBefore(let failure, _): failure.message
    case .signIn(let failure): failure.message
    case .stepUp(let failure, _, let method): failure.message(method.noun)
    case .stepUpWanted(_, let refusal): refusal?.message ?? ConfirmationRefusal.wantedMessage
    case .policyInvalid:
      "The policy is not as its schema wants it; data.problems says where. Nothing was changed."
    case .managed(let thing, let source): thing.message(source)
    case .providerFileGone(let path, _): ProviderFailure.fileGone(path).message
    case .provider(let failure): failure.message
    case .vault(.integrity, _):
      "A sealed record of this account does not open, or is not what its head says. Other accounts are not touched; sign in again to replace it."
    case .vault(.store(let failure), _): failure.message
    case .grantStillStored(let failure):
      """
      The grant serves no program any more, but its revocation could not be stored: \(failure.cause). The agent tries \
      again every few seconds. If the agent ends before the store takes it, the grant is back: then revoke it again by \
      `lanyard grant revoke`.
      """
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
    case .anchorUnreadable:
      """
      The anchor outside this store is damaged: the store's file in ~/.config/lanyard/anchors holds no count. So the \
      agent can't tell whether this store is an older copy of itself, whose refresh tokens may be spent. Nothing of it \
      was used, sent or changed. Put that file back; if there is no copy of it, start the agent once with \
      --accept-old-store, which signs every account out and writes the file anew.
      """
    case .auditDamaged:
      "An entry of the audit log does not open. `audit.verify` says where; accounts and tokens are not touched."
    case .backup(let failure): failure.message
    }
  }
}

extension ManagedThing {
  fileprivate func message(_ source: ManagedSource) -> String {
    let what = self == .policy ? "policy" : "provider"
    return switch source {
    case .file(let path):
      "The administrator of this machine sets this \(what) by \(path), and only that file changes it. Nothing was changed."
    case .bundle(let url):
      "Your organisation sets this \(what) by the bundle of \(url), and only a new bundle changes it. Nothing was changed."
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
    case .token: "The agent does not have this token any more. Ask for the current one by `lanyard token`."
    case .policy: "There is no policy of this name. `policy.list` names those that are there."
    case .callerGrant: "There is no such grant: it was revoked, has ended, or was never made."
    case .subscription: "This connection has no such subscription."
    case .snapshot: "Nothing is known yet of what this account may do. `snapshot.refresh` asks its provider."
    case .rule: "There is no such rule. `rule.list` names those that are there."
    case .answer:
      "No rule names an account for this, and no account's provider lists its origin. `rule.add` adds one."
    case .file: "There is no such file. Nothing was changed."
    case .stepUp(let method): "This account has no \(method.noun). `stepUp.enroll` sets one."
    }
  }
}

extension ConfirmationRefusal {
  fileprivate static let wantedMessage =
    """
    The policy asks that the person proves to be there first: by `lanyard step-up`, typed in the agent's own prompt where \
    the method is `pinentry`. Nothing was sent or changed.
    """

  fileprivate var message: String {
    switch self {
    case .declined: "The person did not confirm this. Nothing was sent or changed."
    case .timedOut: "The person did not confirm this in time. Nothing was sent or changed."
    case .unavailable: PromptFailure.unavailableMessage
    case .paused: "The person did not confirm the last question a moment ago, and is not asked again yet."
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

extension RightsFailure {
  fileprivate var message: String {
    switch self {
    case .noAccessToken: "There is no access token to ask with now. The last snapshot is kept; try again later."
    case .untrusted(let reason): reason.message + " Nothing was sent to it; the last snapshot is kept."
    case .offline: "There is no way to where the provider tells what the person may do. The last snapshot is kept."
    case .unavailable: "The provider could not tell what the person may do. The last snapshot is kept; try again later."
    case .refused:
      "The provider's answer does not tell what this person may do. The last snapshot is kept. Name the claim or the URL that tells it by `provider.update`."
    }
  }
}
