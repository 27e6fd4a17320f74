import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard revocations abandon`
struct RevocationsAbandon: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "abandon", abstract: "Give up a revocation and erase its token here.")

  @Argument(help: "The revocation, as `lanyard revocations` shows it.")
  var revocation: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("revocation.abandon", params: { $0.member("revocation", revocation) }) { result in
      if common.json { return Output.answer(json: result.raw) }
      Output.done("Given up. The token is erased here, but the provider was not told.")
    }
  }
}
