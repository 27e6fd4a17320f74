import CommandSupport
import Glibc
import JSONRPC

/// One sign-in, from its beginning to an account: shows the person what to do and waits.
struct SignIn {
  /// How the person gets to the provider's page and back.
  enum Flow: String {
    case browser, device, paste
  }

  /// What is asked of `signIn.begin`.
  struct SignInRequest {
    var provider: String
    var flow: Flow
    var opensBrowser: Bool
    /// The page and the code go to stderr as JSON, and nothing else.
    var isForPrograms: Bool
    var scopes: [String]
    var account: String?
    var alias: String?
  }

  /// Each wait is one call; a new one is made until the sign-in ends.
  private static let waitSeconds = 60

  let request: SignInRequest

  /// The id of the account that was signed in. Interrupted, it cancels the sign-in first.
  func run(over agent: inout AgentConnection) throws(CommandFailure) -> String {
    let begun: BegunSignIn
    do throws(CommandFailure) {
      begun = try begin(over: &agent)
    } catch {
      let known = (try? ProviderInfo.all(over: &agent).map(\.name)) ?? []
      throw error.explaining(provider: request.provider, known: known)
    }
    begun.show(request)
    do throws(CommandFailure) {
      if request.flow == .paste { return try complete(begun, over: &agent) }
      return try wait(begun, over: &agent)
    } catch {
      // Nobody goes on with it; one that has ended by itself stays as it ended.
      if error.status == .interrupted || request.flow == .paste { cancel(begun, over: &agent) }
      throw error
    }
  }

  private func begin(over agent: inout AgentConnection) throws(CommandFailure) -> BegunSignIn {
    try agent.call("signIn.begin") { writer in
      writer.member("provider", request.provider)
      writer.member("flow", request.flow.rawValue)
      writer.member("scopes", request.scopes)
      writer.member("account", request.account)
      writer.member("alias", request.alias)
    } result: {
      BegunSignIn($0)
    }
  }

  private func wait(_ begun: BegunSignIn, over agent: inout AgentConnection) throws(CommandFailure) -> String {
    let interruption = try Interruption()
    var line = StatusLine()
    defer { line.clear() }
    var call = try sendWait(begun, over: &agent)
    while true {
      switch try progress(of: call, over: &agent) {
      case .completed(let account)?: return account
      case .pending?: call = try sendWait(begun, over: &agent)
      case nil: break
      }
      if !request.isForPrograms { line.show(begun.waitingWords) }
      if try agent.wait(interruption: interruption, milliseconds: line.rhythm) == .interrupted {
        throw Interruption.failure
      }
    }
  }

  private enum Progress {
    case pending
    case completed(account: String)

    init(_ result: JSONNode) throws(CommandFailure) {
      guard result["status"]?.isText("completed") == true else {
        self = .pending
        return
      }
      guard let account = result["account"]?.string else {
        throw CommandFailure(.other, name: "notUnderstood", "The agent did not say who signed in.")
      }
      self = .completed(account: account)
    }
  }

  private func sendWait(_ begun: BegunSignIn, over agent: inout AgentConnection) throws(CommandFailure) -> Int64 {
    try agent.send("signIn.wait") { writer in
      writer.member("signIn", begun.id)
      writer.member("timeoutSeconds", Self.waitSeconds)
    }
  }

  private func progress(of call: Int64, over agent: inout AgentConnection) throws(CommandFailure) -> Progress? {
    do throws(CommandFailure) {
      return try agent.answer(to: call, of: "signIn.wait") { (result) throws(CommandFailure) in try Progress(result) }
    } catch {
      // The time of this one wait ran out, not that of the sign-in.
      guard error.name == "timedOut" else { throw error }
      return .pending
    }
  }

  private func complete(_ begun: BegunSignIn, over agent: inout AgentConnection) throws(CommandFailure) -> String {
    let progress = try PastedAddress(signIn: begun.id).complete(over: &agent) { (result) throws(CommandFailure) in
      try Progress(result)
    }
    if case .completed(let account) = progress { return account }
    return try wait(begun, over: &agent)
  }

  /// Best effort, and bounded: the person wants to leave. What is not cancelled expires.
  private func cancel(_ begun: BegunSignIn, over agent: inout AgentConnection) {
    let call = try? agent.send("signIn.cancel") { $0.member("signIn", begun.id) }
    guard let call else { return }
    for _ in 0..<20 {
      if let answered = try? agent.answer(to: call, of: "signIn.cancel", { _ in true }), answered { return }
      guard let wakeup = try? agent.wait(interruption: nil, milliseconds: 100) else { return }
      if wakeup == .timeout { continue }
    }
  }
}
