internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import JSONRPC

/// An error of the contract (API.md, Errors). It carries no input and no secret: its words are ours.
public struct RPCError: Error, Sendable {
  /// Facts of one error beyond the common ones.
  enum Detail: Sendable {
    case text(String), number(Int64), texts([String]), flag(Bool)
    /// Members of `data` that are objects.
    case objects([[(String, String)]])
  }

  var code: ErrorCode
  /// What happened, what was kept, and what to do next, for a person.
  var message: String
  var account: AccountID?
  var retryAfter: Milliseconds?
  var reason: String?
  var remedies: [WireRemedy] = []
  var details: [(name: String, value: Detail)] = []
  var retryable: Bool

  init(_ code: ErrorCode, _ message: String, retryable: Bool? = nil) {
    self.code = code
    self.message = message
    self.retryable = retryable ?? code.isRetryable
  }

  func with(_ change: (inout RPCError) -> Void) -> RPCError {
    var copy = self
    change(&copy)
    return copy
  }

  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("code")
    writer.integer(code.rawValue)
    writer.key("message")
    writer.string(message)
    writer.key("data")
    writer.beginObject()
    writer.key("name")
    writer.string(code.name.description)
    writer.key("retryable")
    writer.bool(retryable)
    writer.member("account", account?.text)
    // A bound that is told as 0 would invite a loop.
    writer.member("retryAfterMs", retryAfter.map { max(1, $0.count) })
    writer.member("reason", reason)
    if !remedies.isEmpty { writer.member("remedies", remedies.map(\.rawValue)) }
    for (name, value) in details {
      writer.key(name)
      switch value {
      case .text(let text): writer.string(text)
      case .number(let number): writer.integer(number)
      case .flag(let flag): writer.bool(flag)
      case .texts(let texts):
        writer.beginArray()
        for text in texts { writer.string(text) }
        writer.endArray()
      case .objects(let objects):
        writer.beginArray()
        for object in objects {
          writer.beginObject()
          for (name, text) in object {
            writer.key(name)
            writer.string(text)
          }
          writer.endObject()
        }
        writer.endArray()
      }
    }
    writer.endObject()
    writer.endObject()
  }
}

extension RPCError {
  static let accountNotFound = RPCError(
    .accountNotFound, "There is no such account. `account.list` names those that are there; nothing was changed.")

  static func accountAmbiguous(_ candidates: [AccountID]) -> RPCError {
    RPCError(.accountAmbiguous, "Several accounts match. Name one of the candidates by its id.").with {
      $0.details = [("candidates", .texts(candidates.map(\.text)))]
    }
  }

  static let noActiveAccount = RPCError(
    .accountNotFound, "No account is active. Choose one by `account.switch`, or name it.")

  static let providerNotFound = RPCError(
    .providerNotFound, "There is no provider of this name. `provider.list` names those that are there.")

  static let signInNotFound = RPCError(
    .notFound, "There is no such sign-in: it ended some time ago, or was never begun. Begin a new one."
  ).with { $0.details = [("kind", .text("signIn"))] }

  static let shuttingDown = RPCError(
    .shuttingDown, "The agent is ending. Nothing was changed; try again when it is back.")

  static let locked = RPCError(.agentLocked, "The vault is locked. Unlock it and try again; nothing was lost.").with {
    $0.remedies = [.unlock]
  }

  static let cancelled = RPCError(
    .requestCancelled, "The request was cancelled. Work that an account owns goes on, so that no token is lost.")

  static let timedOut = RPCError(
    .timedOut,
    "The time that the request allowed ran out. Work that the account owns goes on; ask again for its result.")

  static func overloaded(_ what: String, retryAfter: Milliseconds = .seconds(1)) -> RPCError {
    RPCError(.overloaded, "A bound was reached: \(what). Wait a moment and try again.").with {
      $0.retryAfter = retryAfter
    }
  }

  static func signInFailed(_ reason: String, _ message: String) -> RPCError {
    RPCError(.signInFailed, message).with { $0.reason = reason }
  }

  static func invalidParams(_ path: String, expected: String) -> RPCError {
    RPCError(.invalidParams, "A parameter is not as the method wants it: see data.path and data.expected.").with {
      $0.details = [("path", .text(path)), ("expected", .text(expected))]
    }
  }

  /// The disk or the seal said no.
  init(_ failure: VaultFailure, account: AccountID? = nil) {
    switch failure {
    case .locked: self = .locked
    case .integrity:
      self = RPCError(
        .integrity,
        "A sealed record of this account does not open, or is not what its head says. Other accounts are not touched; sign in again to replace it."
      ).with {
        $0.account = account
        $0.remedies = [.reauthenticate, .administrator]
      }
    case .dataLocked: self = .dataUnderPIN(account)
    case .store(let failure):
      self = RPCError(
        .storeUnavailable,
        "The store can't be used now: \(failure.words). Nothing was lost; what is cached is still served."
      ).with {
        $0.account = account
        $0.reason = failure.reason
        $0.retryAfter = .seconds(5)
      }
    }
  }
}

extension StoreFailure {
  var reason: String {
    switch self {
    case .full: "diskFull"
    case .readOnly: "readOnly"
    case .inputOutput: "inputOutput"
    case .corrupt: "corrupt"
    case .busy: "busy"
    case .closed: "closed"
    case .unsafePermissions: "unsafePermissions"
    case .newerSchema: "newerSchema"
    }
  }

  var words: String {
    switch self {
    case .full: "the disk is full"
    case .readOnly: "it can only be read"
    case .inputOutput: "the disk reported an error"
    case .corrupt: "the file is damaged"
    case .busy: "another program holds it"
    case .closed: "it is closed"
    case .unsafePermissions: "others could read or replace its files"
    case .newerSchema: "a later version of the agent wrote it"
    }
  }
}
