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
    case .invalidParameter: "A parameter is not valid: see data.path and data.expected."
    case .unsupportedProtocol: "This agent speaks another version of the protocol. See data.supported."
    case .notFound(let thing, _): thing.message
    case .caller(let failure): failure.message
    case .accountNotFound:
      "There is no such account. `account.list` lists the accounts; nothing was changed."
    case .noActiveAccount: "No account is active. Choose one by `account.switch`, or name it."
    case .noSignedInAccount: "No account is signed in."
    case .activeAccountDamaged:
      "The record of the active account can't be decrypted. Choose an account by `account.switch`, or name one; no account was changed."
    case .accountAmbiguous: "Several accounts match. Name one of the candidates by its id."
    case .signedOut(_, let use): use.message
    case .dataSealed:
      "This account is signed out, and its data is kept sealed. Sign in again as the same person to open it."
    case .dataUnderPIN, .vault(.dataLocked, _):
      "The sign-out locked this account's data under its PIN. `stepUp.verify` unlocks it."
    case .token(let refusal, _): refusal.message
    case .subjectToken(let fault, let path, _, let account):
      fault.message(of: path) + (account == nil ? " Nothing was kept." : " Nothing was deleted.")
    case .notBound:
      "This account's tokens are bearer tokens, so there is no key to prove. If the provider offers DPoP, sign in again for bound tokens."
    case .wouldNarrow(_, .details):
      """
      This account's tokens carry authorization details of a type that the caller's grant does not name, so the agent \
      gave no token. Create a grant with `lanyard grant create NAME --details-type TYPE`, or one that names neither scopes \
      nor resources.
      """
    case .wouldNarrow:
      """
      After a token with fewer scopes, this provider might never give the others again, so the agent asked for none. \
      Without `exactScopes` and without a grant that names scopes, a request gets the token with all scopes. If this \
      provider keeps an account's other scopes, say so once: `lanyard provider update NAME --narrowing keeps`.
      """
    case .identityLacks(.noIDToken, _):
      "A refresh of the session brings no ID token that is valid long enough. Access tokens still work; sign in again by `signIn.begin` for a new ID token."
    case .identityLacks(.invalidIDToken, _):
      "The provider's new ID token failed a check and was discarded. Access tokens still work."
    case .identityOfMachine:
      """
      This account is a machine: no person signs in, so there is no ID token. Use its access token, for kubectl by \
      `lanyard credential kubectl --access-token`.
      """
    case .roleRefused("InvalidIdentityToken", _), .roleRefused("ExpiredTokenException", _):
      """
      The Security Token Service refuses the ID token of this account. AWS needs an identity provider for its issuer \
      and client, and the role must trust that identity provider.
      """
    case .roleRefused(let code, _):
      "The Security Token Service refuses the role: \(code). Check the role's name, and that it trusts this account's provider."
    case .rights(let failure, _): failure.message
    case .originNotAllowed:
      """
      The account's provider does not list this origin, so nothing was sent or allowed. List it beside the others: \
      `lanyard provider update NAME --allowed-origin ORIGIN` sets the whole list.
      """
    case .originServed:
      """
      An account serves this origin, so that `*` lets no program through to it without that account's token. Name the \
      origin itself to let it pass.
      """
    case .operationNotFound:
      """
      No operation matches: it was cancelled, its claim has ended, or the policy allows none now (as while the clock \
      is suspect). `operation.list` lists the operations; `policy.explain` says what is allowed.
      """
    case .queueFull:
      """
      The queue is full. This operation was not stored; the queued ones are kept. Try again when some were delivered. \
      `operation.list` shows which wait for the person; `operation.cancel` removes one.
      """
    case .denied(let recorded) where recorded.decision.retryAfter != nil:
      "The policy's hourly budget for this is used up; data.decision says when it is allowed again. Nothing was stored or changed."
    case .denied: "The policy does not allow this now; data.decision says why. Nothing was stored or changed."
    case .unapproved(let refusal, _): refusal.message
    case .challenged: "The resource server demands a new sign-in; data says how."
    case .request(let failure, _, _): failure.message
    case .unsent(let failure), .sentBefore(let failure, _): failure.message
    case .signIn(let failure): failure.message
    case .stepUp(let failure, _, let method): failure.message(method.noun)
    case .stepUpWanted(_, let refusal): refusal?.message ?? ConfirmationRefusal.wantedMessage
    case .policyInvalid:
      "The policy is not valid; data.problems says where. Nothing was changed."
    case .managed(let thing, let source): thing.message(source)
    case .providerFileGone(let path, _): ProviderFailure.fileGone(path).message
    case .provider(let failure): failure.message
    case .vault(.integrity, _):
      "A sealed record of this account is damaged: it can't be decrypted, or its header does not match. Other accounts are not affected; sign in again to replace it."
    case .vault(.store(let failure), _): failure.message
    case .grantStillStored(let failure):
      """
      The grant is revoked, but the revocation could not be stored: \(failure.cause). The agent tries again every few \
      seconds. If the agent ends before that, the grant is valid again at its next start: then revoke it again by \
      `lanyard grant revoke`.
      """
    case .passphrase(let failure): failure.message
    case .keySlot(let failure): failure.message
    case .key(let failure, let protection): failure.message(of: protection)
    case .keyGone(let protection): KeySourceFailure.missingKeyMessage(of: protection)
    case .vaultExists: "The vault exists already. Unlock it; nothing was changed."
    case .vaultDamaged: "The vault's own records can't be decrypted. Restore the store from a backup."
    case .rolledBack:
      """
      This store is an old copy: later changes are missing, and its refresh tokens may be used up. The agent used and \
      sent nothing of it. Put the newest copy back; if there is none, start the agent once with --accept-old-store, \
      which signs every account in it out.
      """
    case .anotherStore:
      """
      The store in this state directory is not the one that the note beside the anchors names: another vault's was put \
      in its place, or its vault is gone. Nothing of it was used, sent or changed. Put the newest copy of the directory \
      back. If there is none, move lanyard.sqlite and lanyard.sqlite-wal away and start once with --new-store, which \
      begins an empty store; then sign in again, or `lanyard restore` a backup. If you put another vault's store here \
      yourself, start once with --accept-old-store, which signs out every account in it that may be an old copy.
      """
    case .anchorDamaged:
      """
      The rollback anchor of this store is damaged: it holds a count that no store reaches. Nothing of the store was \
      used, sent or changed, and --accept-old-store does not help. Remove the store's file in \
      ~/.config/lanyard/anchors (after a restart of the machine nothing else holds the count), then start the agent \
      again.
      """
    case .anchorUnreadable:
      """
      The rollback anchor of this store is damaged: the store's file in ~/.config/lanyard/anchors holds no count. So \
      the agent can't tell whether this store is an old copy, whose refresh tokens may be used up. Nothing of it was \
      used, sent or changed. Put that file back; if there is no copy of it, start the agent once with \
      --accept-old-store, which signs every account out and writes a new file.
      """
    case .auditDamaged:
      "An entry of the audit log can't be decrypted. `audit.verify` says which; accounts and tokens are not affected."
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
    case .keySlot: "There is no such key slot. `agent.listKeySlots` lists the key slots."
    case .secret: "This account has no value of that name."
    case .token: "The agent no longer has this token. `lanyard token` gets the current one."
    case .policy: "There is no policy of this name. `policy.list` lists the policies."
    case .callerGrant:
      "There is no such grant: it was revoked, has expired, or was never created. `lanyard grant list` lists the grants."
    case .subscription: "This connection has no such subscription."
    case .snapshot: "The agent does not know yet what this account may do. `snapshot.refresh` asks the provider."
    case .rule: "There is no such rule. `rule.list` lists the rules."
    case .answer:
      "No rule covers this URL, and no account's provider lists its origin. `rule.add` adds a rule."
    case .approval: "No such request waits: it was decided about, its time is over, or its program has gone."
    case .access: "No such request for access waits: it was decided about, or its grant has ended."
    case .file: "There is no such file. Nothing was changed."
    case .stepUp(let method): "This account has no \(method.noun). `stepUp.enroll` sets one."
    }
  }
}

extension ConfirmationRefusal {
  fileprivate static let wantedMessage =
    """
    The policy requires a step-up first: `lanyard step-up`, or `lanyard step-up --pinentry` where the method is \
    `pinentry`. Nothing was changed.
    """

  fileprivate var message: String {
    switch self {
    case .declined: "The person did not confirm this. Nothing was changed."
    case .timedOut: "The person did not confirm this in time. Nothing was changed."
    case .unavailable: PromptFailure.unavailableMessage
    case .paused: "The person did not confirm the last question a moment ago, so the agent does not ask again yet."
    }
  }
}

extension ApprovalRefusal {
  /// The approval may have been that of a redirect's target, after the first request was sent.
  fileprivate var message: String {
    switch self {
    case .declined:
      "A person declined this request, and is not asked about the same one for a minute. \(Self.unsent)."
    case .notApproved: "No person approved this request in time. \(Self.unsent); it may be asked again."
    }
  }

  private static let unsent = "It was not sent, or its redirect was not followed"
}

extension CallerFailure {
  fileprivate var message: String {
    switch self {
    case .notCovered:
      "The grant of this connection does not cover this request. Nothing was done; `lanyard grant create` creates a grant that covers more."
    case .noGrant: "This connection has no grant, so that nothing limits it: there is no access to ask for."
    case .grantNeeded:
      "This connection is served only with a grant. Present one in `agent.hello`; `lanyard grant create` creates it."
    case .grantRefused:
      "The grant of this connection was refused, has expired, or was revoked. The agent does nothing more on this connection: connect again."
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
    case .noAccessToken: "There is no access token for this request now. The last snapshot is kept; try again later."
    case .untrusted(let reason): reason.message + " Nothing was sent to it; the last snapshot is kept."
    case .offline(.proxy(let failure)): "\(failure.explanation) The last snapshot is kept."
    case .offline(.noLibrary(let library)): "\(library.missing) The last snapshot is kept."
    case .offline:
      "The server that knows what this account may do can't be reached. The last snapshot is kept; try again later."
    case .unavailable:
      "The provider could not say what this account may do. The last snapshot is kept; try again later."
    case .redirected(_, let origin):
      "The address that says what this account may do \(DocumentFailure.leads(to: origin)). The last snapshot is kept; the token was not sent there."
    case .refused:
      "The provider's answer does not say what this account may do. The last snapshot is kept. Name the claim or the URL that says it by `provider.update`."
    }
  }
}
