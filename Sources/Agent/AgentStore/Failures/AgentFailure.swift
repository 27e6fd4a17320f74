package import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentPorts
package import AgentVault

/// The rights that a narrower token would cost the account, or that only a token with too many rights has.
package enum UncoveredRights: Sendable { case scopes, details }

/// Why the agent does not do what it is asked: one case a failure, with its own facts.
///
/// It knows nothing of the wire. `RPCError` translates it to the contract, at one place; decisions are taken on its
/// cases and never on texts.
package indirect enum AgentFailure: Error, Sendable {
  // MARK: the request

  /// The vault is locked.
  case locked
  /// The agent is ending, and begins no work.
  case shuttingDown
  /// The caller cancelled the request, or went away.
  case cancelled
  /// The time that the request allowed ran out. Work that the account owns goes on.
  case timedOut(AccountID)
  /// A bound was reached; `what` names it for a person.
  case overloaded(_ what: String, retryAfter: Milliseconds = .seconds(1))
  /// A parameter that the schema can't judge: its JSON Pointer, and what it must be.
  case invalidParameter(_ path: String, expected: String)
  /// The client speaks another version of the protocol.
  case unsupportedProtocol(supported: String)
  /// Something that a request names does not exist.
  case notFound(MissingThing, AccountID? = nil)
  case caller(CallerFailure)

  // MARK: accounts

  case accountNotFound
  case noActiveAccount
  /// No account is active, and none is signed in that could be.
  case noSignedInAccount
  /// The record that names the active account can't be decrypted.
  case activeAccountDamaged
  case accountAmbiguous([AccountID])
  case signedOut(AccountID, during: SignedOutUse = .use)
  /// Soft sign-out keeps the data sealed until the same person signs in again.
  case dataSealed(AccountID)
  /// The data key is under the account's PIN.
  case dataUnderPIN(AccountID?)
  /// No token can be given.
  case token(TokenMachine.Refusal, AccountID)
  /// The file in which a platform puts the machine's token has none that can be used. The account is nil where one was
  /// to be added; `path` where no exchange has read the file since the agent's start.
  case subjectToken(SubjectTokenFault, path: String?, retryAfter: Milliseconds?, AccountID?)
  /// The provider gives only a token with more rights than these, or one that might take others away from the grant.
  case wouldNarrow(AccountID, UncoveredRights = .scopes)
  /// A refresh brings no ID token that may be given out.
  case identityLacks(IDTokenMachine.Lack, AccountID)
  /// An ID token says who signed in, and this account is a machine.
  case identityOfMachine(AccountID)
  /// The Security Token Service refuses the role, with this error code.
  case roleRefused(String, AccountID)
  /// The account's token is a bearer token, for which there is no proof of possession.
  case notBound(AccountID)
  case rights(RightsFailure, AccountID? = nil)

  // MARK: requests to resource servers

  /// The provider's `allowedOrigins` do not list the URL's origin.
  case originNotAllowed(AccountID)
  /// A proxy was to let a program through to this origin without a token, but the account's provider lists it.
  case originServed(AccountID)
  /// The resource server demands the person.
  case challenged(InteractionDemand, AccountID)
  /// No response came. `isRepeatable`: the request does no harm if it is performed twice.
  case request(RequestFailure, AccountID, isRepeatable: Bool)
  /// A step before the request failed, so that the request was not sent.
  case unsent(AgentFailure)
  /// A step after the request was sent failed, so that its answer is not known, or not the last word.
  /// `isRepeatable`: the request does no harm if it is performed twice.
  case sentBefore(AgentFailure, isRepeatable: Bool)

  // MARK: operations

  case operationNotFound(AccountID)
  /// The queue takes no more operations of this account, or of all accounts.
  case queueFull(AccountID)
  /// The policy denies the operation.
  case denied(RecordedDecision)
  /// A person did not allow the request.
  case unapproved(ApprovalRefusal, AccountID)

  // MARK: the person

  case signIn(SignInFailure)
  case stepUp(StepUpFailure, AccountID, StepUpMethod)
  /// The policy asks for a step-up first. `prompt`: why the person did not confirm it, where they were asked to.
  case stepUpWanted(RecordedDecision, prompt: ConfirmationRefusal? = nil)
  case policyInvalid(PolicyProblems)
  /// The administrator's file that describes the account's provider is gone.
  case providerFileGone(String, AccountID)
  /// Only the organisation's source sets or changes this.
  case managed(ManagedThing, ManagedSource)

  // MARK: providers

  case provider(ProviderFailure)

  // MARK: the vault

  case vault(VaultFailure, AccountID? = nil)
  /// The store refused the revocation of a caller's grant, which serves no caller all the same while the agent runs.
  case grantStillStored(StoreFailure)
  case passphrase(PassphraseFailure)
  case keySlot(KeySlotFailure)
  /// The key source of this protection gives no key.
  case key(KeySourceFailure, of: String)
  /// There is a slot of this protection and no key for it.
  case keyGone(of: String)
  /// The vault exists already.
  case vaultExists
  /// The vault's own records do not open.
  case vaultDamaged
  /// The store is older than its anchor.
  case rolledBack
  /// The store is not the one that the anchor knows in this state directory: it is another vault's, or holds none.
  case anotherStore
  /// The anchor holds a count that no store reaches.
  case anchorDamaged
  /// The anchor holds something that is no count: the store may be an old copy.
  case anchorUnreadable
  case auditDamaged
  case backup(BackupFailure)
}

/// Why a person's confirmation in the agent's own prompt did not come.
package enum ConfirmationRefusal: Hashable, Sendable {
  case declined, timedOut
  /// There is no dialog program, another prompt is open, or it failed.
  case unavailable
  /// The person said no a moment ago, or did not answer.
  case paused(Milliseconds)
}

/// Why a request that waited for a person is not made.
package enum ApprovalRefusal: Hashable, Sendable {
  /// `left`: until the same request may be asked about again.
  case declined(left: Milliseconds)
  /// No verdict came in time.
  case notApproved
}

/// Things that a request can name and that may be missing.
package enum MissingThing: Hashable, Sendable {
  case signIn, revocation, keySlot, secret, policy, callerGrant, subscription, snapshot, file, token, rule, approval,
    access
  /// An account that answers for a URL.
  case answer
  case stepUp(StepUpMethod)
}

/// Things that an organisation can set (docs/administrator.md).
package enum ManagedThing: Hashable, Sendable { case policy, provider }

/// The use for which a caller wanted a signed-out account.
package enum SignedOutUse: Sendable {
  case use, signOut, activation, erasedData
}

/// Why a caller may not do what it asked for.
package enum CallerFailure: Hashable, Sendable {
  /// The grant does not cover this method or account, or there is no such account: the same for each.
  case notCovered
  /// The agent serves only callers with a grant, or this one presented it while the vault was locked.
  case grantNeeded
  /// The method is for callers with a grant.
  case noGrant
  /// The grant was refused, has ended, or was revoked.
  case grantRefused
}

extension AgentFailure {
  /// True if the key is wrong, and not the store: another slot may open the vault.
  var concernsKey: Bool {
    switch self {
    case .passphrase(.wrong), .passphrase(.noSlot), .key, .keyGone, .keySlot(.damaged), .keySlot(.costsOutOfBounds),
      .keySlot(.unknown):
      true
    default: false
    }
  }

  /// The key source has a key that only a person can unlock.
  package var takesAPerson: Bool { if case .key(.locked, _) = self { true } else { false } }

  /// A wrong passphrase, or a key that is not the slot's.
  var isWrongKey: Bool { if case .passphrase(.wrong) = self { true } else { false } }

  /// The vault was locked before this could be done.
  package var isLocked: Bool {
    switch self {
    case .locked, .vault(.locked, _): true
    default: false
    }
  }

  /// The disk failed.
  package var storeFailure: StoreFailure? {
    switch self {
    case .vault(.store(let failure), _), .grantStillStored(let failure): failure
    default: nil
    }
  }
}

extension AgentFailure {
  /// The failure of the vault, told for an account.
  package init(_ failure: VaultFailure, account: AccountID? = nil) {
    switch failure {
    case .locked: self = .locked
    case .dataLocked: self = .dataUnderPIN(account)
    case .integrity, .store: self = .vault(failure, account)
    }
  }

  /// The same request may succeed later without the person's help.
  package var mayPass: Bool {
    switch kind {
    case .agentLocked, .shuttingDown, .overloaded, .requestCancelled, .timedOut, .unlockFailed, .offline,
      .providerUnavailable, .stepUpThrottled, .storeUnavailable:
      true
    default: false
    }
  }

  /// The account that the failure is about; nil where it is about none.
  package var account: AccountID? {
    switch self {
    case .timedOut(let id), .signedOut(let id, _), .dataSealed(let id), .token(_, let id), .wouldNarrow(let id, _),
      .identityLacks(_, let id), .identityOfMachine(let id), .roleRefused(_, let id), .notBound(let id),
      .stepUp(_, let id, _),
      .originNotAllowed(let id), .originServed(let id),
      .challenged(_, let id), .unapproved(_, let id), .request(_, let id, _), .operationNotFound(let id),
      .queueFull(let id),
      .providerFileGone(_, let id):
      id
    case .denied(let decision), .stepUpWanted(let decision, _): decision.account
    case .unsent(let failure), .sentBefore(let failure, _): failure.account
    case .notFound(_, let id), .dataUnderPIN(let id), .rights(_, let id), .vault(_, let id),
      .subjectToken(_, _, _, let id),
      .provider(.damaged(let id)):
      id
    case .signIn(.answerRejected(let failure, _)), .signIn(.importedTokenSpent(let failure)): failure.account
    default: nil
    }
  }

  /// The same failure, told for an account, where it names none yet.
  package func attributed(to id: AccountID) -> AgentFailure {
    switch self {
    case .vault(let failure, nil): .vault(failure, id)
    case .rights(let failure, nil): .rights(failure, id)
    case .dataUnderPIN(nil): .dataUnderPIN(id)
    case .unsent(let failure): .unsent(failure.attributed(to: id))
    case .sentBefore(let failure, let isRepeatable):
      .sentBefore(failure.attributed(to: id), isRepeatable: isRepeatable)
    default: self
    }
  }

  /// After this pause the same request may succeed; nil where no pause is known.
  package var retryAfter: Milliseconds? {
    switch self {
    case .queueFull: .seconds(60)
    case .denied(let recorded): recorded.decision.retryAfter
    case .unapproved(.declined(let left), _): left
    case .stepUpWanted(_, .paused(let pause)?): pause
    case .overloaded(_, let pause), .token(.offline(_, let pause), _), .token(.unavailable(let pause), _),
      .token(.noAnswer(.ended(let pause)), _), .token(.noAnswer(.inDoubt(let pause)), _),
      .token(.noAnswer(.unclear(let pause)), _):
      pause
    case .subjectToken(_, _, let pause, _): pause
    case .token(.noAnswer(.stillWaiting), _): .seconds(1)
    case .vault(.store, _), .grantStillStored, .backup(.store), .token(.store, _): TokenMachine.storePause
    case .backup(.overtaken): .seconds(1)
    case .signIn(.tooMany): .seconds(10)
    case .rights(.unavailable(_, let pause), _), .provider(.registration(.unavailable(let pause))),
      .signIn(.exchange(.transient(_, let pause))):
      pause
    case .passphrase(.wrong(let pause)), .passphrase(.notTried(let pause)), .backup(.wrongPassphrase(let pause)),
      .backup(.passphraseNotTried(let pause)), .stepUp(.throttled(let pause, _), _, _):
      pause
    case .signIn(.answerRejected(let failure, _)): failure.retryAfter
    case .unsent(let failure), .sentBefore(let failure, _): failure.retryAfter
    default: nil
    }
  }
}
