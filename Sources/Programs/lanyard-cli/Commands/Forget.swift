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

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String?

  @Flag(name: [.customShort("y"), .long], help: "Do not ask, also if no account is named.")
  var yes = false

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    let known = try selection.isNamed ? nil : confirmed(selection, via: &agent)
    guard !common.json else {
      guard let known else { return try selection.asking(via: &agent, answer) }
      return try answer(known.id, via: &agent)
    }
    let account = try known ?? AccountInfo.named(selection, via: &agent)
    try requireSignedOut(account)
    try agent.perform("account.forget", params: { $0.member("account", account.id) })
    Output.done(Text.shown("Forgotten: \(account.label) (\(account.person))."))
  }

  /// With `--json`.
  private func answer(_ account: String, via agent: inout AgentConnection) throws(CommandFailure) {
    try agent.call(
      "account.forget", params: { $0.member("account", account) }, result: { Output.answer(json: $0.raw) })
  }

  /// Shows the account that was not named, and asks: this can't be undone.
  private func confirmed(
    _ selection: AccountSelection, via agent: inout AgentConnection
  ) throws(CommandFailure) -> AccountInfo {
    let account: AccountInfo
    do throws(CommandFailure) {
      account = try AccountInfo.named(selection.selector, via: &agent)
    } catch {
      guard error.name == "accountNotFound", case .active = selection.reason else { throw error }
      throw .usage("Name the account to forget.", hints: ["`lanyard list` shows those that are signed out."])
    }
    if Terminal.canAsk, !common.json { try requireSignedOut(account) }
    let question = UnnamedAccount(act: "Forget", command: "lanyard forget", yes: yes, json: common.json)
    try question.confirm(account, because: selection.reason)
    return account
  }

  private func requireSignedOut(_ account: AccountInfo) throws(CommandFailure) {
    guard account.state == "signedOut" else {
      throw CommandFailure(
        .usage, name: "signedIn", "\(account.label) (\(account.person)) is signed in. Nothing was changed.",
        hints: ["Sign out first: `lanyard logout \(account.label)`."])
    }
  }
}
