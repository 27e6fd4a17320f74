import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard key remove`
struct KeyRemove: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a way to open the vault; never the last one.")

  @Argument(help: "The slot, as `lanyard key list` shows it.")
  var slot: Int

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("agent.removeKeySlot") { writer in
      writer.key("slot")
      writer.integer(Int64(slot))
    } result: { result in
      if common.json { return Output.answer(json: result.raw) }
      Output.answer("Removed slot \(slot). What opens the vault now:")
      KeyList.show(result["slots"])
      Output.note("If somebody may have had it, and a copy of the store: `lanyard key rotate`.")
    }
  }
}
