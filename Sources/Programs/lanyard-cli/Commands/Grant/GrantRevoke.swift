import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard grant revoke`
struct GrantRevoke: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "End a grant at once, also for a program that is connected.")

  @Argument(help: "The grant, as `lanyard grant list` shows it.")
  var grant: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("grant.revoke", params: { $0.member("grant", grant) }) { result in
      if common.json { return Output.answer(json: result.raw) }
      Output.done("Revoked. Its secret is useless now.")
    }
  }
}
