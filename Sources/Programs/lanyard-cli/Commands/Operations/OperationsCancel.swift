import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard operations cancel`
struct OperationsCancel: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Take an operation out of the queue and erase its payload.",
    discussion: "One that is being delivered can't be taken back. What was delivered before stays delivered.")

  @Argument(help: "The operation, as `lanyard operations` shows it.")
  var operation: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    let selection = try AccountSelection.choose(argument: nil, option: common.account)
    var agent = try common.connect()
    let account = try selection.located(via: &agent)
    try agent.call("operation.cancel", params: OperationsShow.params(account, operation)) { result in
      if common.json { return Output.answer(json: result.raw) }
      let attempts = result["attempts"]?.integer ?? 0
      Output.done(
        attempts == 0
          ? "Cancelled. It was never sent." : "Taken out of the queue. An earlier attempt may have been carried out.")
    }
  }
}
