import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard logout`
struct Logout: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Sign out.",
    discussion: """
      The tokens are gone at once, and revoked at the provider: now, or as soon as it can be reached.
        --soft     (the default) keeps the account's data sealed until the same person signs in again
        --hard     erases it
        --offline  as --soft, without touching the network
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

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if all, account != nil || common.account != nil {
      throw ValidationError("Name an account, or say --all, not both.")
    }
  }

  func run() throws {
    var agent = try common.connect()
    guard all else {
      let selection = try AccountSelection.choose(argument: account, option: common.account)
      return try signOut(selection.selector, over: &agent)
    }
    let accounts = try AccountInfo.all(over: &agent).filter { $0.state != "signedOut" }
    if accounts.isEmpty, !common.json { Output.note("Nobody is signed in.") }
    // One account's trouble does not keep the others signed in; the first failure is told at the end.
    var failure: CommandFailure?
    for account in accounts {
      do throws(CommandFailure) {
        try signOut(account.id, over: &agent)
      } catch {
        if failure == nil { failure = error }
      }
    }
    if let failure { throw failure }
  }

  private func signOut(_ selector: String, over agent: inout AgentConnection) throws(CommandFailure) {
    let account = common.json ? nil : try AccountInfo.named(selector, over: &agent)
    try agent.call("account.signOut") { writer in
      writer.member("account", account?.id ?? selector)
      writer.member("mode", mode.rawValue)
    } result: { result in
      guard let account else { return Output.answer(json: result.raw) }
      Output.answer(Text.shown("Signed out: \(account.label) (\(account.person))."))
      let data = Self.words(data: result["data"]?.string ?? "", person: account.person)
      let revocation = Self.words(revocation: result["revocation"]?.string ?? "")
      for words in [data, revocation] where !words.isEmpty { Output.answer("  \(Text.shown(words))") }
      if let address = result["endSessionUrl"]?.string {
        Output.answer("  To end the session in the browser, too, open:\n  \(Text.shown(address))")
      }
    }
  }

  private static func words(data: String, person: String) -> String {
    switch data {
    case "sealed": "Its data is sealed until \(person) signs in again."
    case "erased": "Its data is erased."
    case "erasurePending": "Its data can't be read any more; its last traces are erased when the agent starts again."
    default: data
    }
  }

  private static func words(revocation: String) -> String {
    switch revocation {
    case "confirmed": "The provider confirmed that its tokens are revoked."
    case "queued": "The revocation is queued: it is sent when the provider can be reached."
    case "unsupported": "This provider can't revoke tokens: they end when they expire."
    case "notNeeded": "There was no token to revoke."
    default: revocation
    }
  }
}
