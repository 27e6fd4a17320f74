import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard operations retry`
struct OperationsRetry: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Queue an operation again that was rejected or has an unknown outcome.",
    discussion: """
      The policy decides about it again. It keeps its idempotency key: a server that honours the key carries it out \
      once, also if an earlier attempt arrived.
      """)

  @Argument(help: "The operation, as `lanyard operations` shows it.")
  var operation: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    let selection = try AccountSelection.choose(argument: nil, option: common.account)
    var agent = try common.connect()
    let account = try selection.located(via: &agent)
    let owner = common.json ? nil : OperationOwner(of: account, via: &agent)
    try agent.call("operation.retry", params: OperationsShow.params(account, operation)) { result in
      guard let owner else { return Output.answer(json: result.raw) }
      if !Output.isQuiet { OperationInfo(result, of: owner).show() }
    }
  }
}
