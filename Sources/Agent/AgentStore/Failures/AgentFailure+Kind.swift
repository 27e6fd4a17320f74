package import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentVault

extension AgentFailure {
  package var kind: FailureKind {
    switch self {
    case .locked, .vault(.locked, _): .agentLocked
    case .shuttingDown: .shuttingDown
    case .cancelled: .requestCancelled
    case .timedOut: .timedOut
    case .overloaded, .queueFull: .overloaded
    case .operationNotFound: .operationNotFound
    case .denied, .unapproved: .denied
    case .invalidParameter, .vaultExists: .invalidParams
    case .unsupportedProtocol: .unsupportedProtocol
    case .notFound: .notFound
    case .caller, .managed: .notPermitted
    case .accountNotFound, .noActiveAccount, .noSignedInAccount: .accountNotFound
    case .accountAmbiguous: .accountAmbiguous
    case .signedOut: .signedOut
    case .dataSealed, .dataUnderPIN, .vault(.dataLocked, _): .dataLocked
    case .token(let refusal, _): refusal.kind
    case .subjectToken(let fault, _, _, _): fault.mayPass ? .providerUnavailable : .providerMisconfigured
    case .wouldNarrow, .identityLacks, .identityOfMachine, .roleRefused, .notBound: .providerMisconfigured
    case .rights(let failure, _): failure.kind
    case .originNotAllowed, .originServed: .originNotAllowed
    case .challenged, .providerFileGone: .interactionRequired
    case .request(let failure, _, _): failure.kind
    case .unsent(let failure), .sentBefore(let failure, _): failure.kind
    case .signIn(let failure): failure.kind
    case .stepUp(let failure, _, _): failure.kind
    case .stepUpWanted: .stepUpRequired
    case .policyInvalid: .policyInvalid
    case .provider(let failure): failure.kind
    case .vault(.integrity, _), .activeAccountDamaged, .keyGone, .vaultDamaged, .anchorDamaged,
      .anchorUnreadable, .auditDamaged:
      .integrity
    case .vault(.store, _), .grantStillStored: .storeUnavailable
    case .passphrase(.noMemory): .storeUnavailable
    case .passphrase: .unlockFailed
    case .keySlot(let failure): failure.kind
    case .key(.locked, _): .unlockFailed
    case .key: .integrity
    case .rolledBack, .anotherStore: .rolledBack
    case .backup(let failure): failure.kind
    }
  }
}

extension TokenMachine.Refusal {
  fileprivate var kind: FailureKind {
    switch self {
    case .signedOut: .signedOut
    case .reauthenticate: .reauthenticationRequired
    case .locked: .accountLocked
    case .interaction: .interactionRequired
    case .misconfigured: .providerMisconfigured
    case .offline: .offline
    case .untrustedServer: .untrustedServer
    case .unavailable, .noAnswer: .providerUnavailable
    case .store: .storeUnavailable
    }
  }
}

extension ExchangeFailure {
  package var kind: FailureKind {
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

  /// The machine reason beside the kind.
  package var reason: String? {
    switch self {
    case .offline(let failure): failure.word
    case .transient(let reason, _), .unknownOutcome(let reason, _), .reauthenticate(let reason),
      .misconfigured(let reason):
      reason
    case .unexplained: "unexplainedRefusal"
    case .untrustedServer(let reason): reason.rawValue
    case .locked, .interaction, .store: nil
    }
  }
}

extension RightsFailure {
  fileprivate var kind: FailureKind {
    switch self {
    case .noAccessToken, .unavailable, .redirected: .providerUnavailable
    case .untrusted: .untrustedServer
    case .offline: .offline
    case .refused: .providerMisconfigured
    }
  }
}

extension SignInFailure {
  fileprivate var kind: FailureKind {
    switch self {
    case .tooMany: .overloaded
    case .exchange(.offline): .offline
    case .exchange(.untrustedServer): .untrustedServer
    case .exchange(.transient): .providerUnavailable
    case .exchange(.misconfigured): .providerMisconfigured
    case .installationRefused: .reauthenticationRequired
    case .answerRejected(let failure, _): failure.kind
    // The same request can't succeed any more.
    case .importedTokenSpent(let failure): failure.mayPass ? .signInFailed : failure.kind
    default: .signInFailed
    }
  }
}

extension StepUpFailure {
  fileprivate var kind: FailureKind {
    switch self {
    case .wrong, .destroyed, .prompt, .badLength: .stepUpFailed
    case .unavailable: .storeUnavailable
    case .throttled: .stepUpThrottled
    case .required, .recentSignInRequired, .promptRequired: .stepUpRequired
    }
  }
}

extension ProviderFailure {
  fileprivate var kind: FailureKind {
    switch self {
    case .notFound, .fileGone: .providerNotFound
    case .damaged: .integrity
    case .inUse, .clientIDMissing: .invalidParams
    case .document(.offline), .registration(.offline): .offline
    case .document(.untrusted), .registration(.untrusted), .noAuthorities: .untrustedServer
    case .document(let failure): failure.isTemporary ? .providerUnavailable : .providerMisconfigured
    case .registration(.answerLost), .registration(.unavailable): .providerUnavailable
    case .registration(.unsuitable), .registration(.refused), .registration(.otherRedirects),
      .registration(.redirected),
      .noAuthorizationEndpoint, .noSignInEndpoints,
      .noPushEndpoint,
      .pushEndpointGone, .pushRefused, .unsupportedDetails, .redirectNotLoopback, .redirectShared,
      .pkceNotOffered:
      .providerMisconfigured
    }
  }
}

extension KeySlotFailure {
  fileprivate var kind: FailureKind {
    switch self {
    case .damaged, .costsOutOfBounds, .unknown, .changed: .integrity
    case .last, .tooMany, .noKeySource, .taken: .invalidParams
    case .anchorNotWritten: .storeUnavailable
    }
  }
}

extension BackupFailure {
  fileprivate var kind: FailureKind {
    switch self {
    case .file(.notFound): .notFound
    case .file, .notABackup, .newer: .invalidParams
    case .damaged: .integrity
    case .wrongPassphrase, .passphraseNotTried: .unlockFailed
    case .noMemory, .store: .storeUnavailable
    case .overtaken: .overloaded
    }
  }
}
