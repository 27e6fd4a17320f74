import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard revocations send`
struct RevocationsSend: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send", abstract: "Send the revocations now, then list those that still wait.", aliases: ["retry"])

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
