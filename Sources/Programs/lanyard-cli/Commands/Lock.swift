import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard lock`
struct Lock: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lock the vault: the agent forgets every key and token in memory.")

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("agent.lock") { result in
      Self.show(result, json: common.json)
    }
  }

  /// How the vault is now.
  static func show(_ result: JSONNode, json: Bool) {
    if json { return Output.answer(json: result.raw) }
    Output.answer(result["locked"]?.bool == true ? "The vault is locked." : "The vault is unlocked.")
  }
}
