import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard revocations retry`
struct RevocationsRetry: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Try again now, then list the revocations that still wait.")

  @Argument(help: "The revocation. Default: all.")
  var revocation: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call(
      "revocation.retry", params: { $0.member("revocation", revocation) },
      result: { RevocationsList.show($0, json: common.json) })
  }
}
