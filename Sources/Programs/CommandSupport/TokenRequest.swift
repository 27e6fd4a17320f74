internal import Glibc
internal import JSONRPC

/// `lanyard token`: asks for an access token or an ID token and prints it alone.
public struct TokenRequest: Sendable {
  public var account: String?
  public var option: String?
  public var minimumLifetimeSeconds: Int?
  public var scopes: [String] = []
  public var resource: String?
  public var forced = false
  /// How long the agent may take; nil: as long as it waits for a provider that does not answer.
  public var timeoutSeconds: Int?
  /// The ID token instead of an access token. It has no scopes and no resource of its own.
  public var identity = false
  public var json = false
  public var mayStart = true

  public init() {}

  /// - Parameter begun: a connection on which this request was sent; it is used for the first try.
  public func run(begun: consuming AgentConnection? = nil) throws(CommandFailure) {
    CommandFailure.tellNoChanges()
    do throws(CommandFailure) {
      try runOnce(begun)
    } catch {
      var told = error
      if error.name == "timedOut", let timeoutSeconds { told.message = Self.unanswered(in: timeoutSeconds) }
      guard forced, error.status == .providerUnreachable else { throw told }
      told.hints.append(
        "Without --force, `lanyard token\(AccountSelection.lastWord)` prints the current token while it is valid.")
      throw told
    }
  }

  private static func unanswered(in seconds: Int) -> String {
    guard seconds > 0 else { return "There is no token yet. The agent asks the provider: ask again." }
    return "The provider did not answer within \(seconds) s. The agent goes on waiting: ask again."
  }

  private func runOnce(_ begun: consuming AgentConnection?) throws(CommandFailure) {
    let selection = try AccountSelection.choose(argument: account, option: option)
    do throws(CommandFailure) {
      try askUntilAnswered(selection.selector, begun)
    } catch {
      // A program whose grant does not cover the account is not asked to connect twice.
      let isRefused = error.name == "notPermitted" && !selection.selector.contains("@")
      guard error.mayBeOfAnUnknownAccount, !isRefused else { throw error }
      // Look for an e-mail address or a name only now: most programs use an alias, and this is a second request.
      var agent = try Agent.connect(mayStart: mayStart)
      let found = try selection.located(via: &agent)
      guard found != selection.selector else { throw error }
      try askUntilAnswered(found)
    }
  }

  private func askUntilAnswered(
    _ account: String, _ begun: consuming AgentConnection? = nil
  ) throws(CommandFailure) {
    for _ in 1..<Self.attempts {
      do throws(CommandFailure) {
        if var agent = begun.take() { return try showAnswer(to: agent.lastID, for: account, on: &agent) }
        return try ask(account)
      } catch {
        // The agent is ending. The request may be repeated: it changes nothing, and nothing was printed.
        guard error.name == "wentAway" || error.name == "shuttingDown" else { throw error }
        usleep(Self.pauseMicroseconds)
      }
    }
    try ask(account)
  }

  /// The largest `timeoutSeconds` of the contract.
  public static let longestTimeoutSeconds = 3_600
  /// The agent waits for a silent provider for 20 s (docs/tokens.md). One that says nothing for so much longer hangs.
  private static let agentSeconds = 20
  private static let graceSeconds = 10

  private var patienceMilliseconds: Int32 {
    Int32(clamping: ((timeoutSeconds ?? Self.agentSeconds) + Self.graceSeconds) * 1_000)
  }

  /// The socket of an ending agent accepts connections for a moment, so a second request may reach the same agent.
  private static let attempts = 4
  private static let pauseMicroseconds: UInt32 = 5_000

  private var method: String { identity ? "identity.get" : forced ? "token.refresh" : "token.get" }

  private func ask(_ account: String) throws(CommandFailure) {
    var agent = try Agent.connect(mayStart: mayStart)
    let id = try agent.send(method) { writer in
      writer.key("account")
      writer.string(account)
      if !scopes.isEmpty {
        writer.key("scopes")
        writer.beginArray()
        for scope in scopes.flatMap({ $0.split(separator: " ") }) { writer.string(String(scope)) }
        writer.endArray()
      }
      if let resource {
        writer.key("resource")
        writer.string(resource)
      }
      if let minimumLifetimeSeconds {
        writer.key("minimumLifetimeSeconds")
        writer.integer(minimumLifetimeSeconds)
      }
      if let timeoutSeconds {
        writer.key("timeoutSeconds")
        writer.integer(timeoutSeconds)
      }
    }
    try showAnswer(to: id, for: account, on: &agent)
  }

  private func showAnswer(
    to id: Int64, for account: String, on agent: inout AgentConnection
  ) throws(CommandFailure) {
    agent.patienceMilliseconds = patienceMilliseconds
    try agent.result(of: id, waitingFor: { WaitedFor(account: account).name }) { (result) throws(CommandFailure) in
      if json {
        Output.answer(json: result.raw)
        try Output.checkAnswer()
      } else {
        let token = identity ? result["idToken"] : result["accessToken"]
        guard let token, token.kind == .string else { throw .notUnderstood }
        try Output.secretLine(token)
        warnIfShort(result["expiresInSeconds"]?.integer, isStale: result["source"]?.string == "staleOk")
      }
    }
  }

  /// The provider decides how long its tokens are valid, so that a wish for more can't be met.
  private func warnIfShort(_ seconds: Int64?, isStale: Bool) {
    guard let seconds, let wanted = minimumLifetimeSeconds, seconds < wanted else { return }
    let reason = isStale ? "the provider gave no new token" : "the provider's tokens last no longer"
    Output.warning("This token is valid for \(seconds) s, not for \(wanted) s: \(reason).")
  }
}
