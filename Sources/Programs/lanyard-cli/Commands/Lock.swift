import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard lock`
struct Lock: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lock the vault: the agent wipes all keys and tokens from memory.")

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("agent.lock") { result in
      Self.show(result, json: common.json)
    }
  }

  /// Prints whether the vault is locked.
  static func show(_ result: JSONNode, json: Bool) {
    if json { return Output.answer(json: result.raw) }
    Output.done(result["locked"]?.bool == true ? "The vault is locked." : "The vault is unlocked.")
  }
}
