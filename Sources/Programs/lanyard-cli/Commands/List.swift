import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard list`
struct List: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the accounts.", discussion: "The mark * shows the active account.")

  @OptionGroup var tables: TableOptions

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
    // Most providers issue bearer tokens; then the column would say nothing.
    let showsBinding = accounts.contains { $0.tokenBinding != nil }
    let binding = showsBinding ? ["TOKENS"] : []
    var table = Table(
      ["", "ACCOUNT", "NAME", "PROVIDER", "TENANT", "STATE"] + binding + ["LAST ONLINE"],
      whole: ["ACCOUNT", "PROVIDER", "STATE", "TOKENS", "LAST ONLINE"])
    for account in accounts {
      let tokens: Table.Cell =
        switch account.tokenBinding {
        case "bound"?: .init("bound")
        case "downgraded"?: .init("bearer, were bound", .notice)
        default: .init("-")
        }
      table.add(
        [
          .init(account.isActive ? "*" : " "), .init(account.label, account.isActive ? .bold : nil),
          .init(account.person), .init(account.provider), .init(account.tenant ?? "-"),
          .init(AccountInfo.words(ofState: account.state), .state(account.state)),
        ] + (showsBinding ? [tokens] : []) + [.init(account.lastOnline?.relative ?? "-")])
    }
    table.print(tables)
  }
}
