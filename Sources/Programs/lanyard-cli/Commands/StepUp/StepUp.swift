import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard step-up`
struct StepUp: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "step-up",
    abstract: "Confirm with your PIN that it is you.",
    discussion: """
      A policy may allow a capability only to a person who has just confirmed it. This command asks for the account's \
      PIN, without showing it, and says how long the confirmation (the step-up) counts. Locking the vault, signing out \
      and --clear end it at once.

      --enroll sets the PIN of an account. Ten wrong PINs destroy it, and with it the data that a soft sign-out kept. \
      A correct PIN does not reset the count of wrong ones; a new PIN does. Without a terminal the PIN is read from \
      stdin; it is never an argument.

      EXAMPLES:
        lanyard step-up --enroll
        lanyard step-up work --duration 600
        lanyard step-up --status
        lanyard step-up --pinentry       # the agent asks for the PIN
      """)

  /// The alternatives to asking for the PIN.
  enum Action: String, EnumerableFlag {
    case enroll, clear, remove, status

    static func help(for action: Action) -> ArgumentHelp? {
      switch action {
      case .enroll: "Set a PIN. An old PIN is asked for first."
      case .clear: "End the step-up now."
      case .remove: "Remove the PIN. It is asked for first."
      case .status: "Show whether a PIN is set, the tries left, and the end of the step-up."
      }
    }
  }

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String?

  @Flag(exclusivity: .exclusive) var action: Action?

  @Option(
    name: .long,
    help: ArgumentHelp("How long the step-up counts. Default: as long as the policy allows.", valueName: "seconds"))
  var duration: Int?

  @Flag(name: .long, help: "Let the agent ask for the PIN with pinentry.")
  var pinentry = false

  @OptionGroup var common: CommonOptions

  /// Length of the step-up that changing a PIN needs.
  private static let momentSeconds = 60
  /// At this number of tries or fewer, the command warns.
  private static let fewAttempts = 3

  func validate() throws {
    if let duration {
      guard action == nil else { throw ValidationError("--duration does not go with the other actions.") }
      guard (1...86_400).contains(duration) else { throw ValidationError("--duration is 1 to 86400 seconds.") }
    }
    if pinentry, action == .clear || action == .status {
      throw ValidationError("--clear and --status need no PIN. Leave out --pinentry.")
    }
  }

  func run() throws {
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    var agent = try common.connect()
    let selector = try selection.located(via: &agent)
    switch action {
    case nil: try verify(selector, via: &agent)
    case .status: try show("stepUp.status", of: selector, via: &agent)
    case .clear: try show("stepUp.clear", of: selector, via: &agent)
    case .remove:
      try confirm(selector, via: &agent)
      try show("stepUp.unenroll", of: selector, via: &agent)
    case .enroll: try enroll(selector, via: &agent)
    }
  }

  private func verify(_ selector: String, via agent: inout AgentConnection) throws(CommandFailure) {
    try requirePIN(selector, via: &agent)
    let pin = try self.pin(asking: "PIN (not shown): ")
    let answer = try agent.call("stepUp.verify") { writer in
      writer.member("account", selector)
      Self.write(pin, to: &writer)
      writer.member("durationSeconds", duration)
    } result: { (node) -> (until: Moment?, json: String) in
      (node["validUntil"]?.string.flatMap { Moment($0) }, node.text)
    }
    if common.json { return Output.answer(json: answer.json) }
    let now = SessionInfo.now(of: selector, via: &agent)
    Output.done("Confirmed" + (answer.until.map { ", until \($0.clock) (\($0.relative(to: now)))." } ?? "."))
    let left = try agent.call("stepUp.status", params: { $0.member("account", selector) }) {
      $0["attemptsLeft"]?.integer
    }
    if let left, left <= Self.fewAttempts {
      Output.warning(
        "This PIN has \(left) \(left == 1 ? "try" : "tries") left. `lanyard step-up\(AccountSelection.lastWord) --enroll` sets a new one."
      )
    }
  }

  /// Checks that a PIN exists before a person is asked for it. A script gets the agent's error instead.
  private func requirePIN(_ selector: String, via agent: inout AgentConnection) throws(CommandFailure) {
    guard Terminal.canAsk, !pinentry else { return }
    let isThere = try agent.call("stepUp.status", params: { $0.member("account", selector) }) { status in
      status["enrolled"]?.bool == true || status["attemptsLeft"]?.integer == 0
    }
    guard !isThere else { return }
    throw CommandFailure(
      .other, name: "notFound", "This account has no PIN.",
      hints: ["`lanyard step-up\(AccountSelection.lastWord) --enroll` sets one."])
  }

  private func enroll(_ selector: String, via agent: inout AgentConnection) throws(CommandFailure) {
    try confirm(selector, via: &agent)
    let pin = try self.pin(asking: "A new PIN (not shown): ")
    if !pinentry, Terminal.canAsk { try pin?.confirm() }
    try send(pin, to: "stepUp.enroll", of: selector, via: &agent)
  }

  /// Asks for the present PIN, if one is set and not yet confirmed.
  private func confirm(_ selector: String, via agent: inout AgentConnection) throws(CommandFailure) {
    let mustConfirm = try agent.call("stepUp.status", params: { $0.member("account", selector) }) { status in
      status["enrolled"]?.bool == true && status["validUntil"] == nil
    }
    guard mustConfirm else { return }
    try Self.confirm(selector, asking: "Your present PIN (not shown): ", pinentry: pinentry, via: &agent)
  }

  /// Asks for the PIN of an account, and has the agent count a step-up of a minute.
  static func confirm(
    _ selector: String, asking question: String, pinentry: Bool, via agent: inout AgentConnection
  ) throws(CommandFailure) {
    let pin = try pin(asking: question, pinentry: pinentry)
    try agent.perform("stepUp.verify") { writer in
      writer.member("account", selector)
      write(pin, to: &writer)
      writer.member("durationSeconds", momentSeconds)
    }
  }

  private func send(
    _ pin: consuming SecretInput?, to method: String, of selector: String, via agent: inout AgentConnection
  ) throws(CommandFailure) {
    let now = common.json ? .now : SessionInfo.now(of: selector, via: &agent)
    try agent.call(method) { writer in
      writer.member("account", selector)
      Self.write(pin, to: &writer)
    } result: {
      show($0, now: now)
    }
  }

  private func show(_ method: String, of selector: String, via agent: inout AgentConnection) throws(CommandFailure) {
    let now = common.json ? .now : SessionInfo.now(of: selector, via: &agent)
    try agent.call(method, params: { $0.member("account", selector) }, result: { show($0, now: now) })
  }

  // MARK: The PIN

  /// Nil with `--pinentry`.
  private func pin(asking question: String) throws(CommandFailure) -> SecretInput? {
    try Self.pin(asking: question, pinentry: pinentry)
  }

  private static func pin(asking question: String, pinentry: Bool) throws(CommandFailure) -> SecretInput? {
    pinentry ? nil : try SecretInput.line(of: "-", question: question)
  }

  private static func write(_ pin: borrowing SecretInput?, to writer: inout JSONWriter) {
    switch pin {
    case .some(let pin):
      writer.key("pin")
      pin.withBytes { writer.string(utf8: $0) }
    case .none: writer.member("prompt", "pinentry")
    }
  }

  // MARK: Output

  private func show(_ status: JSONNode, now: Moment) {
    if common.json { return Output.answer(json: status.raw) }
    // The status is what was asked for; after a change it only says that it was made.
    guard action == .status || !Output.isQuiet else { return }
    let left = status["attemptsLeft"]?.integer ?? 0
    guard status["enrolled"]?.bool == true else {
      return Output.answer(
        text: left > 0 ? "No PIN is set." : "Too many wrong PINs destroyed the PIN. Sign in again, then set a new one.")
    }
    let until = status["validUntil"]?.string.flatMap { Moment($0) }
    let confirmed = until.map { "confirmed until \($0.clock) (\($0.relative(to: now)))" } ?? "not confirmed now"
    Output.answer(text: "A PIN is set, with \(left) \(left == 1 ? "try" : "tries") left; \(confirmed).")
  }
}
