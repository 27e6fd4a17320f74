import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard list`
struct List: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the accounts.", discussion: "The mark * shows the active account.")

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    if common.json {
      try agent.call("account.list") { Output.answer(json: $0.raw) }
      return
    }
    let accounts = try AccountInfo.all(via: &agent)
    guard !accounts.isEmpty else {
      return Output.note("There is no account yet. `lanyard login` adds one.")
    }
    var table = Table(["", "ACCOUNT", "NAME", "PROVIDER", "TENANT", "STATE", "LAST ONLINE"])
    for account in accounts {
      table.add([
        .init(account.isActive ? "*" : " "), .init(account.label, account.isActive ? .bold : nil),
        .init(account.person), .init(account.provider), .init(account.tenant ?? "-"),
        .init(account.state, .state(account.state)), .init(account.lastOnline?.relative ?? "-"),
      ])
    }
    table.print()
  }
}
