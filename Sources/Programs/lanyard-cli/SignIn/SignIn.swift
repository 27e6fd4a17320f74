import CommandSupport
import Glibc
import JSONRPC
import LoopbackHTTP

/// One sign-in: begins it, shows the person what to do, and waits for the account.
struct SignIn {
  /// The flow of the sign-in, by its name in the contract.
  enum Flow: String {
    case browser, device, paste
  }

  /// The parameters of `signIn.begin`, and how to show its answer.
  struct SignInRequest {
    var provider: String
    var flow: Flow
    var opensBrowser: Bool
    /// `--json`: print the answer of `signIn.begin` to stderr instead of instructions.
    var isForPrograms: Bool
    var scopes: [String]
    var account: String?
    var alias: String?
    var acrValues: [String] = []
    var maxAgeSeconds: Int?
    var claims: String?
    /// A JSON array.
    var details: RawJSON?
    /// The command of `--browser`.
    var browser: String?
    /// When the likely mistake is named, if no answer came.
    var hintAfterSeconds: Int

    /// The account to sign in again, as it was named, or the provider.
    var whom: String {
      let typed = AccountSelection.lastWord
      return account.map { "--account" + (typed.isEmpty ? " \(ErrorMessages.shellWord($0))" : typed) } ?? provider
    }

    /// The command that begins it again.
    var command: String { "lanyard login \(whom)" + (flow == .browser ? "" : " --\(flow.rawValue)") }
  }

  /// The timeout of one `signIn.wait`; `wait` calls it until the sign-in ends. Each answer tells what came to the redirect
  /// URI and was refused, which a person who waits has to know soon.
  private static let waitSeconds = 5

  /// How often the time of the hint is looked at.
  private static let hintPauseMilliseconds: Int32 = 1_000

  let request: SignInRequest

  /// Signs in; returns the id of the account. Cancels the sign-in if it is interrupted.
  func run(via agent: inout AgentConnection) throws(CommandFailure) -> String {
    let begun: BegunSignIn
    do throws(CommandFailure) {
      // A device sign-in asks the provider itself.
      if request.flow != .device { try ReachableProvider(request: request).require(via: &agent) }
      begun = try begin(via: &agent)
    } catch {
      let known = (try? ProviderInfo.all(via: &agent).map(\.name)) ?? []
      let isAccount =
        error.name == "providerNotFound" && request.account == nil
        && (try? AccountInfo.named(request.provider, via: &agent)) != nil
      throw error.explaining(provider: request.provider, known: known, isAccount: isAccount).naming(signIn: request)
    }
    // The browser fetches its page while the sign-in waits.
    let page = begun.openBrowser(request)
    defer { page?.close() }
    begun.show(request, wasOpened: page != nil, provider: nameBehindLogin(via: &agent))
    do throws(CommandFailure) {
      if request.flow == .paste { return try complete(begun, via: &agent) }
      return try wait(begun, via: &agent)
    } catch {
      // The person has stopped, so cancel the sign-in. Cancelling one that has ended has no effect.
      if error.status == .interrupted || request.flow == .paste { cancel(begun, via: &agent) }
      throw error.naming(signIn: request)
    }
  }

  /// ` idp`, where a sign-in has to name its provider; empty if there is only one.
  private func nameBehindLogin(via agent: inout AgentConnection) -> String {
    guard let all = try? ProviderInfo.all(via: &agent), all.count > 1 else { return "" }
    return " " + request.provider
  }

  private func begin(via agent: inout AgentConnection) throws(CommandFailure) -> BegunSignIn {
    try agent.call("signIn.begin") { writer in
      writer.member("provider", request.provider)
      writer.member("flow", request.flow.rawValue)
      writer.member("scopes", ifAny: request.scopes)
      writer.member("account", request.account)
      writer.member("alias", request.alias)
      writer.member("acrValues", ifAny: request.acrValues)
      writer.member("maxAgeSeconds", request.maxAgeSeconds)
      writer.member("claims", request.claims)
      if let details = request.details {
        writer.key("authorizationDetails")
        details.write(to: &writer)
      }
    } result: {
      BegunSignIn($0)
    }
  }

  private func wait(_ begun: BegunSignIn, via agent: inout AgentConnection) throws(CommandFailure) -> String {
    let interruption = try Interruption()
    var line = StatusLine()
    defer { line.clear() }
    var call = try sendWait(begun, via: &agent)
    var hint = begun.likelyMistake(request)
    let hintAt = Moment.now.seconds + request.hintAfterSeconds
    var told: Int64 = 0
    while true {
      switch try progress(of: call, via: &agent) {
      case .completed(let account)?: return account
      case .pending(let refused)?:
        if let refused, refused.count > told, !request.isForPrograms {
          line.clear()
          Output.instruction("\n\(refused.text)\n")
          told = refused.count
        }
        call = try sendWait(begun, via: &agent)
      case nil: break
      }
      if let text = hint, Moment.now.seconds >= hintAt {
        line.clear()
        Output.instruction("\n\(Text.shownLines(text))\n")
        hint = nil
      }
      if !request.isForPrograms { line.show(begun.waitingWords) }
      let pause = hint == nil ? line.rhythm : Self.hintPauseMilliseconds
      if try agent.wait(interruption: interruption, milliseconds: pause) == .interrupted { throw Interruption.failure }
    }
  }

  /// What came to the redirect URI of a sign-in and was refused.
  private struct Refused {
    var count: Int64
    var because: String

    /// For the person who waits.
    var text: String {
      let reason =
        switch because {
        case "tooLarge":
          "the browser's cookies for this machine are larger than 64 KiB. Delete those of 127.0.0.1 and localhost in the browser and load its page again, or begin again with `--paste`"
        case "anotherUser": "it came from another user of this machine"
        case "anotherPath":
          "it came to another path than this sign-in's. The provider may have another redirect address registered"
        case "foreignState": "it belongs to another sign-in, or the provider leaves out `state`"
        case "anotherMethod": "it was not sent as a GET"
        default: "it could not be read"
        }
      return "An answer at the address where the browser comes back was refused: \(reason). This sign-in still waits."
    }
  }

  private enum Progress {
    case pending(Refused?)
    case completed(account: String)

    init(_ result: JSONNode) throws(CommandFailure) {
      guard result["status"]?.isText("completed") == true else {
        let refused = result["refused"]?.integer.map {
          Refused(count: $0, because: result["refusedBecause"]?.string ?? "")
        }
        self = .pending(refused)
        return
      }
      guard let account = result["account"]?.string else {
        throw CommandFailure(.other, name: "notUnderstood", "The agent's answer names no account.")
      }
      self = .completed(account: account)
    }
  }

  private func sendWait(_ begun: BegunSignIn, via agent: inout AgentConnection) throws(CommandFailure) -> Int64 {
    try agent.send("signIn.wait") { writer in
      writer.member("signIn", begun.id)
      writer.member("timeoutSeconds", Self.waitSeconds)
    }
  }

  private func progress(of call: Int64, via agent: inout AgentConnection) throws(CommandFailure) -> Progress? {
    do throws(CommandFailure) {
      return try agent.answer(to: call) { (result) throws(CommandFailure) in try Progress(result) }
    } catch {
      // Only this call timed out; the sign-in continues.
      guard error.name == "timedOut" else { throw error }
      return .pending(nil)
    }
  }

  private func complete(_ begun: BegunSignIn, via agent: inout AgentConnection) throws(CommandFailure) -> String {
    agent.waitsFor = request.provider
    defer { agent.waitsFor = nil }
    let progress = try PastedAddress(signIn: begun.id).complete(via: &agent) { (result) throws(CommandFailure) in
      try Progress(result)
    }
    if case .completed(let account) = progress { return account }
    return try wait(begun, via: &agent)
  }

  /// Cancels the sign-in; gives up after two seconds. A sign-in that is not cancelled expires.
  private func cancel(_ begun: BegunSignIn, via agent: inout AgentConnection) {
    let call = try? agent.send("signIn.cancel") { $0.member("signIn", begun.id) }
    guard let call else { return }
    for _ in 0..<20 {
      if let answered = try? agent.answer(to: call, { _ in true }), answered { return }
      guard let wakeup = try? agent.wait(interruption: nil, milliseconds: 100) else { return }
      if wakeup == .timeout { continue }
    }
  }
}

extension CommandFailure {
  /// Names the provider, or the account, in the hint that begins a new sign-in.
  fileprivate func naming(signIn request: SignIn.SignInRequest) -> CommandFailure {
    var told = self
    // It was forgotten meanwhile: signing in to it again leads nowhere.
    if name == "accountNotFound" {
      told.hints = ["Sign in without it: `lanyard login \(request.provider)`."]
      return told
    }
    told.hints = hints.map { hint in
      hint.hasPrefix("`lanyard login`") ? "`\(request.command)`" + hint.dropFirst("`lanyard login`".count) : hint
    }
    // `ReachableProvider`, which asks for the other flows, says it there.
    if request.flow == .device, status == .providerUnreachable {
      told.hints.append("`lanyard provider test \(request.provider)` says what answers and what does not.")
    }
    return told
  }
}
