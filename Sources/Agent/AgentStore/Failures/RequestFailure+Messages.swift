package import AgentCore
internal import AgentModel

extension RequestFailure {
  var message: String {
    switch self {
    case .notSent(.proxy(let failure)): "\(failure.explanation) The request was not sent."
    case .notSent(.noLibrary(let library)): "\(library.missing) The request was not sent."
    case .notSent: "The resource server can't be reached. The request was not sent; try again later."
    case .lost(reason: "malformed"):
      """
      The server's answer can't be read: it is encoded in an unknown way, or breaks the rules of HTTP. The server may have \
      carried out the request.
      """
    case .lost:
      "The request was sent, and no complete response came. The server may have carried it out."
    case .untrusted(let reason): reason.message + " The request was not sent."
    case .timedOut(.notSent): "The time that the request allowed ran out before it was sent."
    case .timedOut(.unknown):
      "The time that the request allowed ran out after it was sent. The server may have carried it out."
    case .cancelled(.notSent): "The request was cancelled before it was sent."
    case .cancelled(.unknown): "The request was cancelled after it was sent. The server may have carried it out."
    case .responseTooLarge:
      "The server's answer is larger than the agent passes on, so the answer was dropped. Ask the server for less at once."
    case .tokenRepeated:
      """
      The server's answer repeats the access token, which this caller's grant does not cover, so the answer was \
      dropped. The server may have carried out the request.
      """
    }
  }

  var kind: FailureKind {
    switch self {
    case .notSent: .offline
    case .lost: .providerUnavailable
    case .untrusted: .untrustedServer
    case .timedOut: .timedOut
    case .cancelled: .requestCancelled
    case .responseTooLarge: .overloaded
    case .tokenRepeated: .notPermitted
    }
  }
}

extension AgentFailure {
  /// The failure of a step before a request is sent, or sent again. Before the first time it is as `beforeSending` says.
  /// After it failures that may be different the next time say that the outcome is unknown, and so
  /// does every failure of a write.
  package static func stopped(_ failure: AgentFailure, _ machine: RequestMachine?, hasKey: Bool) -> AgentFailure {
    guard let machine, machine.attempts > 0 else { return beforeSending(failure) }
    guard failure.mayDifferLater || !machine.isRead else { return failure }
    return .sentBefore(failure, isRepeatable: machine.isRead || hasKey)
  }

  /// The failure of a step before the first sending. It says that nothing was sent, so that a program knows that the
  /// request may be made again: at once, or after the person signed in. A request that is refused itself, by its form, the
  /// caller's grant or a policy, has nothing of it to say.
  package static func beforeSending(_ failure: AgentFailure) -> AgentFailure {
    failure.mayDifferLater || failure.isOfSession ? .unsent(failure) : failure
  }

  /// The account's session gives no token now.
  private var isOfSession: Bool {
    switch kind {
    case .signedOut, .reauthenticationRequired, .interactionRequired, .accountLocked, .providerMisconfigured: true
    default: false
    }
  }

  /// It may be different the next time.
  private var mayDifferLater: Bool {
    switch kind {
    case .offline, .providerUnavailable, .untrustedServer, .timedOut, .requestCancelled, .overloaded, .agentLocked,
      .shuttingDown, .storeUnavailable:
      true
    default: false
    }
  }
}
