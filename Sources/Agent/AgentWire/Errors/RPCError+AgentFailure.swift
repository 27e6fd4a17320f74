internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentProtocol
package import AgentStore
internal import AgentVault

/// The one place that translates the agent's failures to the errors of the contract.
extension RPCError {
  package init(_ failure: AgentFailure) {
    if case .unsent(let cause) = failure {
      self.init(cause)
      if !details.contains(where: { $0.name == "outcome" }) { details.append(("outcome", .text("notSent"))) }
      return
    }
    if case .sentBefore(let cause, let isRepeatable) = failure {
      self.init(cause)
      details.removeAll { $0.name == "outcome" }
      details.append(("outcome", .text("unknown")))
      retryable = retryable && isRepeatable
      return
    }
    self.init(failure.kind, failure.message)
    account = failure.account
    retryAfter = failure.retryAfter
    reason = failure.wireReason
    remedies = failure.wireRemedies
    details = failure.wireDetails
    if let untrusted = failure.trustFailure {
      reason = untrusted.rawValue
      details.append(("outcome", .text("notSent")))
    }
    if case .request(let request, _, let isRepeatable) = failure {
      details.append(("outcome", .text(request.outcome.rawValue)))
      retryable = retryable && !request.isOfResponse && (request.outcome == .notSent || isRepeatable)
    }
  }
}

extension AgentFailure {
  /// `data.reason`: one word for programs.
  var wireReason: String? {
    switch self {
    case .vault(.store(let failure), _), .grantStillStored(let failure), .backup(.store(let failure)):
      failure.wireReason
    case .token(.store, _): StoreFailure.inputOutput.wireReason
    case .token(.reauthenticate(let reason), _), .token(.misconfigured(let reason), _): reason
    case .subjectToken(let fault, _, _, _): fault.rawValue
    case .token(.noAnswer(.unclear), _): TokenMachine.outcomeUnknown
    case .token(.noAnswer, _), .provider(.document(.unavailable(status: 0, _))): "noAnswer"
    case .wouldNarrow: "wouldNarrow"
    case .identityLacks(let lack, _): lack.rawValue
    case .identityOfMachine: IDTokenMachine.Lack.noIDToken.rawValue
    case .roleRefused(let code, _): code
    case .notBound: TokenMachine.notBound
    case .queueFull: "queueFull"
    case .managed: "managed"
    case .providerFileGone: "administratorFileGone"
    case .denied(let recorded): recorded.decision.reason.rawValue
    case .unapproved(.declined, _): "declined"
    case .unapproved(.notApproved, _): "notApproved"
    case .stepUpWanted(_, let refusal): refusal?.wireReason ?? Decision.Reason.stepUpRequired.rawValue
    case .request(let failure, _, _): failure.wireReason
    case .caller(.grantNeeded): "grantNeeded"
    case .caller(.noGrant): "noGrant"
    case .caller(.grantRefused): "grantRefused"
    // In other cases a provider that can't be reached is told without a reason.
    case .token(.offline(let failure, _), _), .provider(.document(.offline(let failure))),
      .provider(.registration(.offline(let failure))):
      failure.isOfThisSide ? failure.word : nil
    case .rights(.offline(let failure), _): failure.word
    case .rights(.unavailable(let reason, _), _), .rights(.refused(let reason), _):
      reason
    case .rights(.redirected(let status, _), _): "status\(status)"
    case .signIn(let failure): failure.wireReason
    case .stepUp(let failure, _, let method): failure.wireReason(method.noun)
    case .provider(.registration(.unsuitable)), .provider(.registration(.refused)),
      .provider(.registration(.otherRedirects)):
      "registrationRefused"
    case .provider(.registration(.redirected)): "redirected"
    case .provider(.pkceNotOffered): "pkceNotOffered"
    case .provider(.pushRefused(let error)): error
    case .provider(.redirectShared): "redirectShared"
    case .provider(.unsupportedDetails): "unsupportedAuthorizationDetails"
    case .provider(.document(let failure)) where kind == .providerMisconfigured: failure.wireReason
    case .passphrase(.prompt(let failure)): failure.wireReason
    case .passphrase(.badLength): "notAPassphrase"
    case .keySlot(.damaged), .keySlot(.costsOutOfBounds): "keySlotDamaged"
    case .keySlot(.unknown): "keySlotUnknown"
    case .keySlot(.anchorNotWritten): "anchorNotWritten"
    case .key(.unsafePermissions, _): "keyUnsafe"
    case .key(.damaged, _): "keyDamaged"
    case .key(.unavailable, _), .key(.missingLibrary, _): "keyUnavailable"
    case .key(.locked, _): "keyLocked"
    case .keyGone: "keyGone"
    default: nil
    }
  }

  /// Why a server was not trusted; nil for every other failure.
  fileprivate var trustFailure: TrustFailure? {
    switch self {
    case .token(.untrustedServer(let reason), _), .rights(.untrusted(let reason), _),
      .signIn(.exchange(.untrustedServer(let reason))), .provider(.document(.untrusted(let reason))),
      .provider(.registration(.untrusted(let reason))):
      reason
    case .provider(.noAuthorities): .unknownAuthority
    case .signIn(.answerRejected(let failure, _)), .signIn(.importedTokenSpent(let failure)): failure.trustFailure
    default: nil
    }
  }

  /// The remedies to try, in this order.
  fileprivate var wireRemedies: [WireRemedy] {
    switch self {
    case .locked: [.unlock]
    case .denied(let recorded), .stepUpWanted(let recorded, _): recorded.decision.remedies.map(WireRemedy.init)
    case .notFound(.snapshot, _): [.connect]
    case .signedOut, .dataSealed: [.reauthenticate]
    case .dataUnderPIN: [.stepUp]
    case .token(let refusal, _): refusal.wireRemedies
    case .subjectToken(let fault, _, _, _): fault.mayPass ? [] : [.administrator]
    case .rights(.untrusted, _), .rights(.refused, _), .managed, .providerFileGone, .provider(.fileGone):
      [.administrator]
    case .rights(.offline, _), .request(.notSent, _, _): [.connect]
    case .request(.untrusted, _, _), .originNotAllowed, .originServed, .notBound: [.administrator]
    case .challenged: [.interact, .reauthenticate]
    case .signIn(.exchange(.offline)), .provider(.document(.offline)), .provider(.registration(.offline)): [.connect]
    case .signIn(.exchange(.misconfigured)), .signIn(.exchange(.untrustedServer)), .provider(.pushRefused):
      [.administrator]
    case .signIn(.answerRejected(let failure, _)): failure.wireRemedies
    case .signIn(.importedTokenSpent(let failure)): failure.mayPass ? [] : failure.wireRemedies
    case .stepUp(.wrong, _, _), .stepUp(.required, _, _): [.stepUp]
    case .stepUp(.destroyed(let endsBySignIn), _, _): endsBySignIn ? [.reauthenticate] : []
    case .stepUp(.recentSignInRequired, _, _): [.reauthenticate]
    case .provider(.damaged), .vaultDamaged, .rolledBack, .anotherStore, .anchorDamaged, .anchorUnreadable,
      .auditDamaged, .backup(.damaged), .keyGone,
      .keySlot(.damaged), .keySlot(.costsOutOfBounds), .keySlot(.unknown), .keySlot(.changed):
      [.administrator]
    case .key(let failure, _): failure == .locked ? [] : [.administrator]
    case .vault(.integrity, _): [.reauthenticate, .administrator]
    default: []
    }
  }

  fileprivate var wireDetails: [(name: String, value: RPCError.Detail)] {
    switch self {
    case .invalidParameter(let path, let expected): Self.parameter(path, expected)
    case .managed(_, let source): [("source", .text(source.text))]
    case .providerFileGone(let path, _), .provider(.fileGone(let path)): [("source", .text(path))]
    case .vaultExists: Self.parameter("", "an agent that has no vault yet")
    case .unsupportedProtocol(let supported): [("supported", .texts([supported]))]
    case .notFound(let thing, _): [("kind", .text(thing.wireKind))]
    case .operationNotFound: [("kind", .text("operation"))]
    case .denied(let recorded), .stepUpWanted(let recorded, _): [("decision", .decision(WireDecision(recorded)))]
    case .backup(.file(.notFound)): [("kind", .text(MissingThing.file.wireKind))]
    case .accountAmbiguous(let candidates): [("candidates", .texts(candidates.map(\.text)))]
    case .token(.interaction(let claims?), _): [("claims", .text(claims))]
    case .challenged(let demand, _): demand.wireDetails
    case .request(.responseTooLarge, _, _): [("limit", .number(Int64(RequestMachine.maximumResponseBytes)))]
    // The provider refused nothing.
    case .token(.misconfigured(TokenMachine.notBound), _), .token(.misconfigured(TokenMachine.noRefreshToken), _),
      .token(.misconfigured(TokenMachine.notSupported), _):
      []
    case .token(.misconfigured(let error), _), .signIn(.exchange(.misconfigured(let error))),
      .signIn(.answer(.refused(let error))), .provider(.pushRefused(let error)),
      .provider(.registration(.refused(let error?))):
      [("providerError", .text(error))]
    case .signIn(.answerRejected(let failure, let left)):
      failure.wireDetails + [("attemptsLeft", .number(Int64(left)))]
    case .signIn(.importedTokenSpent(let failure)): failure.wireDetails
    case .stepUp(let failure, _, _): failure.attemptsLeft.map { [("attemptsLeft", .number(Int64($0)))] } ?? []
    case .policyInvalid(let problems):
      [("problems", .objects(problems.list.map { [("pointer", $0.pointer), ("text", $0.text)] }))]
        + (problems.more > 0 ? [("moreProblems", .number(Int64(problems.more)))] : [])
    case .provider(.inUse(let users)):
      Self.parameter("/provider", "a provider that no account uses any more")
        + [("accounts", .texts(users.map(\.text)))]
    case .provider(.clientIDMissing):
      Self.parameter(
        "/clientId", "the id of a client that the provider knows, where the agent can't register itself")
    case .provider(.noAuthorities): Self.parameter("/caFile", "a readable file with certificates in PEM form")
    case .keySlot(let failure): failure.wireParameter.map { Self.parameter($0.path, $0.expected) } ?? []
    case .backup(let failure): failure.expectedPath.map { Self.parameter("/path", $0) } ?? []
    default: []
    }
  }

  private static func parameter(_ path: String, _ expected: String) -> [(name: String, value: RPCError.Detail)] {
    [("path", .text(path)), ("expected", .text(expected))]
  }
}

extension ConfirmationRefusal {
  fileprivate var wireReason: String {
    switch self {
    case .declined: "promptDeclined"
    case .timedOut: "promptTimedOut"
    case .unavailable: "promptUnavailable"
    case .paused: "promptPaused"
    }
  }
}

extension MissingThing {
  fileprivate var wireKind: String {
    switch self {
    case .signIn: "signIn"
    case .revocation: "revocation"
    case .keySlot: "keySlot"
    case .secret: "secret"
    case .policy: "policy"
    case .callerGrant: "grant"
    case .subscription: "subscription"
    case .snapshot: "snapshot"
    case .file: "file"
    case .rule, .answer: "rule"
    case .approval: "approval"
    case .access: "access"
    case .token: "token"
    case .stepUp(let method): method.rawValue
    }
  }
}

extension TokenMachine.Refusal {
  fileprivate var wireRemedies: [WireRemedy] {
    switch self {
    case .signedOut, .reauthenticate: [.reauthenticate]
    case .misconfigured(TokenMachine.noRefreshToken): [.reauthenticate]
    case .misconfigured(TokenMachine.notSupported): []
    case .locked, .misconfigured, .untrustedServer: [.administrator]
    case .interaction: [.interact, .reauthenticate]
    case .offline: [.connect]
    case .unavailable, .noAnswer, .store: []
    }
  }
}

extension RequestFailure {
  var wireReason: String? {
    switch self {
    case .notSent(let failure): failure.word
    case .lost(let reason): reason
    case .untrusted(let reason): reason.rawValue
    case .responseTooLarge: "responseTooLarge"
    case .tokenRepeated: "tokenRepeated"
    case .timedOut, .cancelled: nil
    }
  }

  /// A response came: the same request would get the same one.
  fileprivate var isOfResponse: Bool { self == .responseTooLarge || self == .tokenRepeated }
}

extension InteractionDemand {
  fileprivate var wireDetails: [(name: String, value: RPCError.Detail)] {
    var details: [(name: String, value: RPCError.Detail)] = []
    if let claims { details.append(("claims", .text(claims))) }
    if !acrValues.isEmpty { details.append(("acrValues", .texts(acrValues))) }
    if let maxAgeSeconds { details.append(("maxAgeSeconds", .number(maxAgeSeconds))) }
    if !scopes.isEmpty { details.append(("scopes", .texts(scopes))) }
    return details
  }
}
