import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard revocations abandon`
struct RevocationsAbandon: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "abandon", abstract: "Give one up: its token is erased here, and may live on at the provider.")

  @Argument(help: "The one to give up.")
  var revocation: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("revocation.abandon", params: { $0.member("revocation", revocation) }) { result in
      if common.json { return Output.answer(json: result.raw) }
      Output.answer("Given up. The token is erased here; the provider was not told.")
    }
  }
}
