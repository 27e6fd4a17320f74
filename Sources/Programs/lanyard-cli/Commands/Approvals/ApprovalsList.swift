import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard approvals [list]`
struct ApprovalsList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List what waits for your yes.",
    discussion: """
      --watch goes on until Ctrl-C: it shows each one as it comes, and what became of it. On a terminal it asks you about \
      each: a letter and Enter decide. What you typed before a question was there does not count.
      """)

  @Flag(name: .long, help: "Show each one as it comes, and on a terminal ask about it, until Ctrl-C.")
  var watch = false

  @OptionGroup var tables: TableOptions
  @OptionGroup var common: CommonOptions

  func run() throws {
    if watch {
      var watch = ApprovalsWatch(common)
      return try watch.run()
    }
    var agent = try common.connect()
    let waiting = try WaitingDecisions(via: &agent)
    if common.json { return Output.answer(json: waiting.json) }
    if waiting.all.isEmpty { return Output.note("Nothing waits for your yes.") }
    let accounts = DecisionAccounts(via: &agent)
    var table = Table(["ID", "PROGRAM", "ASKS FOR", "ENDS"], whole: ["ID", "ENDS"], folded: ["ASKS FOR"])
    for decision in waiting.all {
      let now = accounts.now(for: decision, via: &agent)
      let wish = decision.wish(as: accounts.label(of: decision)) + (decision.stepUp == nil ? "" : "; needs your PIN")
      table.add([
        .init(decision.id), .init(decision.client), .init(wish),
        .init(decision.expiresAt?.relative(to: now) ?? "-"),
      ])
    }
    table.print(tables)
    if Terminal.showsAnswers { Output.note("`lanyard approvals allow ID` or `lanyard approvals deny ID` decides.") }
  }
}
