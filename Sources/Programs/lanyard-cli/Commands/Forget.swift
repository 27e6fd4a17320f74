import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard forget`
struct Forget: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Erase a signed-out account for good.",
    discussion: """
      Erases its name, its id and the data that a soft sign-out kept. This can't be undone. The same person can sign \
      in again, as a new account with a new id. A revocation that waits is still sent.
      """)

  @Argument(help: "The account: an alias or an id.", completion: .accounts)
  var account: String?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    // No default account: this can't be undone.
    if account == nil, common.account == nil { throw ValidationError("Name the account to forget.") }
  }

  func run() throws {
    var agent = try common.connect()
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    if common.json {
      let params = { (writer: inout JSONWriter) in writer.member("account", selection.selector) }
      return try agent.call("account.forget", params: params, result: { Output.answer(json: $0.raw) })
    }
    let account = try AccountInfo.named(selection.selector, via: &agent)
    guard account.state == "signedOut" else {
      throw CommandFailure(
        .usage, name: "signedIn", "\(account.label) (\(account.person)) is signed in. Nothing was changed.",
        hints: ["Sign out first: `lanyard logout \(account.label)`."])
    }
    try agent.perform("account.forget", params: { $0.member("account", account.id) })
    Output.answer(Text.shown("Forgotten: \(account.label) (\(account.person))."))
  }
}
