internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentProtocol
internal import AgentStore
internal import AgentVault

// What `data` says of each kind of failure (docs/protocol.md, Errors).

extension SignInFailure {
  var wireReason: String? {
    switch self {
    case .expired: "expired"
    case .cancelled: "cancelled"
    case .denied, .answer(.denied): "denied"
    case .otherPerson, .identity(.tenantMissing), .secretOfAnother: TokenMachine.identityMismatch
    case .secretRefused: TokenMachine.secretRefused
    case .installationRefused(let reason): reason
    case .exchange(.misconfigured(let reason)): reason
    case .answer(.unreadable), .answer(.withoutCode), .pastedNoAnswer, .codeWithoutState,
      .wholeAddressNeeded:
      "malformedAnswer"
    case .answer(.stateMismatch): "stateMismatch"
    case .answer(.anotherAddress): "redirectMismatch"
    case .answer(.issuerMismatch): "issuerMismatch"
    case .answer(.refused): "providerError"
    case .identity(.idTokenMissing), .identity(.idTokenInvalid), .identity(.subjectMissing),
      .identity(.keysUnread), .identity(.keySetUnnamed):
      "invalidIdToken"
    case .identity(.noEndpoint), .identity(.notNamed): "noIdentity"
    case .notATokenResponse, .unknownTokenType, .boundUnasked, .identity(.accessTokenMissing): "invalidTokenResponse"
    case .notBound: "notBound"
    case .deviceFlowUnsupported: "flowUnsupported"
    case .invalidDeviceAnswer: "invalidDeviceAnswer"
    case .portBusy: "portBusy"
    case .noListener: "noListener"
    case .deviceCodeUnknown, .importedBefore, .exchange(.unexplained), .exchange(.reauthenticate), .exchange(.locked),
      .exchange(.interaction), .exchange(.store):
      "refused"
    case .exchange(.unknownOutcome): "answerLost"
    case .exchange(.transient(let reason, _)): reason
    case .exchange(.offline(let failure)): failure.isOfThisSide ? failure.word : nil
    case .exchange(.untrustedServer), .tooMany: nil
    case .answerRejected(let failure, _), .importedTokenSpent(let failure): failure.wireReason
    }
  }
}

extension StepUpFailure {
  func wireReason(_ noun: String) -> String? {
    switch self {
    case .wrong: "wrong\(noun)"
    case .destroyed: "destroyed"
    case .prompt(let failure, _): failure.wireReason
    case .badLength: "notAPIN"
    case .recentSignInRequired: "recentSignInRequired"
    case .promptRequired: "promptRequired"
    case .unavailable, .throttled, .required: nil
    }
  }

  var attemptsLeft: Int? {
    switch self {
    case .wrong(let left), .throttled(_, let left), .prompt(_, let left), .badLength(let left): left
    case .destroyed: 0
    case .unavailable, .required, .recentSignInRequired, .promptRequired: nil
    }
  }
}

extension PromptFailure {
  var wireReason: String {
    switch self {
    case .cancelled: "cancelled"
    case .timedOut: "timedOut"
    case .unavailable: "promptUnavailable"
    }
  }
}

extension DocumentFailure {
  /// There is no document that discovery could read, or the one that there is must not be used.
  var wireReason: String {
    switch self {
    case .issuerMismatch: "issuerMismatch"
    case .redirected: "redirected"
    case .page: "foreignPage"
    default: "noDiscovery"
    }
  }
}

extension KeySlotFailure {
  var wireParameter: (path: String, expected: String)? {
    switch self {
    case .last: ("/slot", "a slot that is not the last one")
    case .tooMany(let most): ("/protection", "fewer than \(most) slots; remove one first")
    case .noKeySource: ("/protection", "a protection that this agent has a key source for")
    case .taken: ("/protection", "a protection that has no slot yet")
    case .damaged, .costsOutOfBounds, .unknown, .changed, .anchorNotWritten: nil
    }
  }
}

extension BackupFailure {
  var expectedPath: String? {
    switch self {
    case .file(.noPath): "an absolute path of a file"
    case .file(.exists): "a path at which nothing stands yet"
    case .file(.noDirectory): "a path in a directory that is there"
    case .file(.forbidden): "a place that you may use"
    case .notABackup, .file(.notABackup): "a file that `agent.backup` wrote"
    case .newer: "a backup of this version of the agent, or of an earlier one"
    case .file(.notFound), .file(.store), .damaged, .wrongPassphrase, .passphraseNotTried, .noMemory, .store,
      .overtaken:
      nil
    }
  }
}

extension StoreFailure {
  var wireReason: String {
    switch self {
    case .full: "diskFull"
    case .readOnly: "readOnly"
    case .inputOutput: "inputOutput"
    case .corrupt: "corrupt"
    case .busy: "busy"
    case .closed: "closed"
    case .unsafePermissions, .link, .noFile, .hardLinked: "unsafePermissions"
    case .missing: "missing"
    case .newerSchema: "newerSchema"
    }
  }
}
