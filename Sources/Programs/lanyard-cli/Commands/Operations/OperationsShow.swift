import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard operations show`
struct OperationsShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show one operation with its request, its payload and the server's answer.")

  @Argument(help: "The operation, as `lanyard operations` shows it.")
  var operation: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    let selection = try AccountSelection.choose(argument: nil, option: common.account)
    var agent = try common.connect()
    let account = try selection.located(via: &agent)
    let owner = common.json ? nil : OperationOwner(of: account, via: &agent)
    try agent.call("operation.get", params: OperationsShow.params(account, operation)) { result in
      guard let owner else { return Output.answer(json: result.raw) }
      OperationInfo(result, of: owner).show()
      Output.answer(LaidOutJSON.text(result))
    }
  }

  static func params(_ account: String, _ operation: String) -> (inout JSONWriter) -> Void {
    { writer in
      writer.member("account", account)
      writer.member("operation", operation)
    }
  }
}
