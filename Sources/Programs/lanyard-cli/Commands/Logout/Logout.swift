import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard logout`
struct Logout: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Sign out.",
    discussion: """
      The agent erases the tokens at once and revokes them at the provider, now or when it can reach the provider. \
      `lanyard revocations` shows those that wait, `lanyard revocations send` sends them now.
        --soft     (default) keeps the account's data sealed until the same
                   person signs in again
        --hard     erases the data and whose account it is; `lanyard list`
                   shows its id until `lanyard forget`
        --offline  as --soft, but without the network

      Where the configuration demands it (`signOut`), for example your organisation's, each of them erases as --hard does; \
      --offline still does without the network.

      The browser may still be signed in at the provider. If the provider has a page that ends this, the command shows \
      the page. With --open, or after your consent, it opens the page.

      An account that is signed out already stays signed out, and the command exits with 0. An account that --hard \
      erased has no name any more: while there is one, an unknown name exits with 0, too.

      Without a name, the command shows the account and asks; a program names it or passes --yes.

      --all continues if one account can't be signed out, and reports each. With --json it prints a list.

      EXAMPLES:
        lanyard logout work
        lanyard logout work && lanyard forget work    # erase all of it
        lanyard logout --all
      """)

  /// Whether the data is kept, and whether the network is used.
  enum Mode: String, EnumerableFlag {
    case soft, hard, offline
  }

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String?

  @Flag(exclusivity: .exclusive, help: "How to sign out.")
  var mode: Mode = .soft

  @Flag(name: .long, help: "Sign out of every account.")
  var all = false

  @Flag(name: [.customShort("y"), .long], help: "Do not ask, also if no account is named.")
  var yes = false

  @Flag(name: .long, help: "Open the page that ends the session in the browser.")
  var open = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if all, account != nil || common.account != nil {
      throw ValidationError("Name an account or use --all, not both.")
    }
  }

  func run() throws {
    var agent = try common.connect()
    guard !all else { return try signOutOfAll(via: &agent) }
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    do throws(CommandFailure) {
      let outcome = try signOut(of: selection, via: &agent)
      if common.json {
        Output.answer(json: outcome.json)
      } else {
        outcome.show()
        if outcome.leavesNoneActive { tellNoneActive(via: &agent) }
      }
      endSession(outcome, mayAsk: true)
    } catch {
      if error.name == "agentLocked" { throw error.explaining(signOutOf: selection, options: optionWords) }
      try tellAlreadyDone(error, selection, via: &agent)
    }
  }

  /// What it does besides its default, as a person types it: behind the name of the command, or of the account.
  var optionWords: String { (mode == .soft ? "" : " --\(mode.rawValue)") + (open ? " --open" : "") }

  private func signOut(
    of selection: AccountSelection, via agent: inout AgentConnection
  ) throws(CommandFailure) -> SignOutOutcome {
    guard selection.isNamed else { return try signOut(confirmed(selection, via: &agent), via: &agent) }
    // A person sees the account's name; `--json` needs only the answer.
    guard common.json else { return try signOut(AccountInfo.named(selection, via: &agent), via: &agent) }
    return try selection.asking(via: &agent) { (account, agent) throws(CommandFailure) in
      try signOut(account, showing: nil, via: &agent)
    }
  }

  /// Shows the account that was not named, and asks.
  private func confirmed(
    _ selection: AccountSelection, via agent: inout AgentConnection
  ) throws(CommandFailure) -> AccountInfo {
    let account = try AccountInfo.named(selection.selector, via: &agent)
    let erases = mode == .hard || !yes && !common.json && Terminal.canAsk && isHardDemanded(via: &agent)
    if account.state != "signedOut" || erases {
      let act = erases ? "Sign out and erase the data of" : "Sign out of"
      let question = UnnamedAccount(act: act, command: "lanyard logout\(optionWords)", yes: yes, json: common.json)
      try question.confirm(account, because: selection.reason)
    }
    return account
  }

  /// True if the configuration demands that every sign-out erases.
  func isHardDemanded(via agent: inout AgentConnection) -> Bool {
    (try? agent.call("agent.status") { $0["hardSignOutDemandedBy"] != nil }) ?? false
  }

  /// An account that is signed out stays so: this is no failure.
  private func tellAlreadyDone(
    _ failure: CommandFailure, _ selection: AccountSelection, via agent: inout AgentConnection
  ) throws(CommandFailure) {
    let isActive = if case .active = selection.reason { true } else { false }
    if failure.name == "signedOut", let id = failure.account {
      guard !common.json else { return Output.answer(json: #"{"account":"\#(id)","state":"signedOut"}"#) }
      let account = try AccountInfo.named(id, via: &agent)
      Output.done(Text.shown("\(account.label) (\(account.person)) is signed out already."))
    } else if failure.name == "accountNotFound", isActive {
      guard !common.json else { return Output.answer("{}") }
      Output.done("No account is active, so none was signed out.")
    } else if failure.name == "accountNotFound",
      try AccountInfo.all(via: &agent).contains(where: \.isErased)
    {
      // The name may be that of an erased account, which no longer has it.
      guard !common.json else { return Output.answer("{}") }
      Output.done(Text.shown("No account is called \(selection.selector), so none was signed out."))
      Output.done("  An account that --hard erased has no name any more: see `lanyard list`.")
    } else {
      throw failure
    }
  }

  /// Names the command that makes another account the active one, as far as one is signed in.
  func tellNoneActive(via agent: inout AgentConnection) {
    guard !Output.isQuiet, let all = try? AccountInfo.all(via: &agent), !all.contains(where: \.isActive) else { return }
    let others = all.filter { $0.state != "signedOut" }.map { ErrorMessages.shellWord($0.label) }
    switch others.count {
    case 0: Output.done("  No account is signed in now: `lanyard login` signs in.")
    case 1: Output.done("  No account is active now: `lanyard switch \(others[0])` makes that one active.")
    default:
      let commands = others.prefix(Self.mostProposed).map { "`lanyard switch \($0)`" }.joined(separator: ", ")
      Output.done("  No account is active now. Choose one: \(commands).")
    }
  }

  /// Accounts that `tellNoneActive` names; `lanyard list` has the others.
  private static let mostProposed = 3

  func signOut(_ account: AccountInfo, via agent: inout AgentConnection) throws(CommandFailure) -> SignOutOutcome {
    try signOut(account.id, showing: common.json ? nil : account, via: &agent)
  }

  /// `account`: what a person is told of it.
  private func signOut(
    _ selector: String, showing account: AccountInfo?, via agent: inout AgentConnection
  ) throws(CommandFailure) -> SignOutOutcome {
    let goesOn =
      "The sign-out goes on: `lanyard list` shows the account, `lanyard revocations` what is still to be sent."
    var outcome = try Interruption.telling(goesOn, json: common.json) { () throws(CommandFailure) in
      try agent.call("account.signOut") { writer in
        writer.member("account", selector)
        writer.member("mode", mode.rawValue)
      } result: {
        SignOutOutcome($0, of: account)
      }
    }
    if outcome.tellsTime, let account { outcome.now = SessionInfo.now(of: account.id, via: &agent) }
    return outcome
  }

  /// Offers the page that ends the session in the browser (OpenID Connect RP-Initiated Logout 1.0 §2): the agent can't
  /// reach the browser's cookies.
  func endSession(_ outcome: SignOutOutcome, mayAsk: Bool) {
    guard let address = outcome.endSessionURL else { return }
    if open {
      guard !PrivateBrowser.hasOpened(address) else { return }
      Output.warning("No browser opened the page here.")
    } else if mayAsk, !common.json, !Output.isQuiet, Terminal.canAsk, Browser.canOpen() {
      if Terminal.confirm("End the browser's session at \(Text.shown(outcome.provider)), too?"),
        !PrivateBrowser.hasOpened(address)
      {
        Output.warning("No browser opened the page here.")
      } else {
        return
      }
    }
    guard !common.json else { return }
    // The address holds the ID token, with name and e-mail: on a terminal it is of use, in a log it is not.
    guard Terminal.showsAnswers else {
      Output.done(
        "  The session in the browser at \(Text.shown(outcome.provider)) may go on: sign out on its page, too.")
      // This account is signed out: the option is for the next one.
      if !open { Output.done("  With --open, a sign-out opens that page.") }
      return
    }
    Output.done("  To end the session in the browser, too, open:")
    if !Output.isQuiet { Output.answer("  \(Text.shown(address))") }
  }
}
