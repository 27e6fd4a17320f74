import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard logout`
struct Logout: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Sign out.",
    discussion: """
      The tokens are gone at once, and revoked at the provider: now, or as soon as it can be reached \
      (`lanyard revocations` shows what waits).
        --soft     (the default) keeps the account's data sealed until the same person signs in again
        --hard     erases it; `lanyard list` still names the account, until `lanyard forget`
        --offline  as --soft, without touching the network

      The browser may still be signed in at the provider. Where the provider has a page that ends that, it is shown, and \
      opened if you say so, or with --open.

      --all goes on when one account can't be signed out, and tells of each; with --json it prints a list.

      EXAMPLES:
        lanyard logout work
        lanyard logout work --hard && lanyard forget work    # leaves no trace of it
        lanyard logout --all
      """)

  /// What becomes of the data, and whether the network is used.
  enum Mode: String, EnumerableFlag {
    case soft, hard, offline
  }

  @Argument(help: "The account: an alias or an id.", completion: .accounts)
  var account: String?

  @Flag(exclusivity: .exclusive, help: "How to sign out.")
  var mode: Mode = .soft

  @Flag(name: .long, help: "Sign out of every account.")
  var all = false

  @Flag(name: [.customShort("y"), .long], help: "With --all, on a terminal: do not ask first.")
  var yes = false

  @Flag(name: .long, help: "Open the page that ends the browser's session at the provider.")
  var open = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if all, account != nil || common.account != nil {
      throw ValidationError("Name an account, or say --all, not both.")
    }
    if yes, !all { throw ValidationError("--yes goes with --all.") }
  }

  func run() throws {
    var agent = try common.connect()
    guard !all else { return try signOutOfAll(over: &agent) }
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    let outcome = try signOut(selection.selector, over: &agent)
    if common.json {
      Output.answer(outcome.json)
    } else {
      outcome.show()
    }
    endSession(outcome, mayAsk: true)
  }

  func signOut(_ selector: String, over agent: inout AgentConnection) throws(CommandFailure) -> SignOutOutcome {
    // Programs get the agent's answer; only people are told whom it was.
    let account = common.json ? nil : try AccountInfo.named(selector, over: &agent)
    return try agent.call("account.signOut") { writer in
      writer.member("account", account?.id ?? selector)
      writer.member("mode", mode.rawValue)
    } result: {
      SignOutOutcome($0, of: account)
    }
  }

  /// Offers the page that ends the session in the browser (OpenID Connect RP-Initiated Logout 1.0 §2): what the agent
  /// did reaches no cookie.
  func endSession(_ outcome: SignOutOutcome, mayAsk: Bool) {
    guard let address = outcome.endSessionURL else { return }
    if open {
      guard !Browser.open(address) else { return }
      Output.warning("no browser could be opened here.")
    } else if mayAsk, !common.json, Terminal.canAsk, Browser.canOpen {
      if Terminal.confirm("End the browser's session at \(Text.shown(outcome.provider)), too?"),
        !Browser.open(address)
      {
        Output.warning("no browser could be opened here.")
      } else {
        return
      }
    }
    guard !common.json else { return }
    Output.answer("  To end the session in the browser, too, open:\n  \(Text.shown(address))")
  }
}
