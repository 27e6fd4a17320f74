import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard switch`
struct Switch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make an account the active one.",
    discussion: """
      Without a name, the command switches between two accounts, and asks if there are more. Commands use the active \
      account if none is named, LANYARD_ACCOUNT is not set, and no .lanyard file is found.
      """)

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    let target: String
    if account != nil || common.account != nil {
      target = try AccountSelection.choose(argument: account, option: common.account).located(via: &agent)
    } else {
      target = try choose(among: AccountInfo.all(via: &agent))
    }
    if common.json {
      try agent.call(
        "account.switch", params: { $0.member("account", target) }, result: { Output.answer(json: $0.raw) })
      return
    }
    try agent.perform("account.switch", params: { $0.member("account", target) })
    let account = try AccountInfo.named("@active", via: &agent)
    Output.done("Active account: \(Text.shown("\(account.label) (\(account.person))")).")
    if account.needsSignIn {
      Output.note(Text.shown("It has to sign in again: `lanyard login --account \(account.label)`."))
    }
    try warnIfOverruled(account, via: &agent)
  }

  private func choose(among all: [AccountInfo]) throws(CommandFailure) -> String {
    let accounts = all.filter { $0.state != "signedOut" }
    let others = accounts.filter { !$0.isActive }
    switch accounts.count {
    case 0:
      throw CommandFailure(
        .other, name: "accountNotFound", "There is no account to switch to.", hints: ["`lanyard login` adds one."])
    case 1: return accounts[0].id
    case 2 where others.count == 1: return others[0].id
    default: break
    }
    guard Terminal.canAsk else {
      throw .usage(
        "There are \(accounts.count) accounts. Name the one to switch to.",
        hints: accounts.map { "\($0.isActive ? "*" : " ") \($0.label)  \($0.person)" })
    }
    for (number, account) in accounts.enumerated() {
      let mark = account.isActive ? "*" : " "
      Output.instruction(Text.shown("\(mark) \(number + 1)  \(account.label)  \(account.person)"))
    }
    guard let answer = Terminal.ask("Switch to (number or name): "), !answer.isEmpty else { throw Interruption.failure }
    if let number = Int(answer), accounts.indices.contains(number - 1) { return accounts[number - 1].id }
    return answer
  }

  /// Warns if `LANYARD_ACCOUNT` or a `.lanyard` file selects another account here.
  private func warnIfOverruled(_ active: AccountInfo, via agent: inout AgentConnection) throws {
    let here = try AccountSelection.choose(argument: nil, asksTrust: false)
    if case .active = here.reason { return }
    guard here.isTrusted else { return }
    let selected = try? AccountInfo.named(here.selector, via: &agent)
    guard selected?.id != active.id else { return }
    Output.warning(
      "Here \(Text.shown(selected?.label ?? here.selector)) is still used, because of \(here.reason.text).")
  }
}
