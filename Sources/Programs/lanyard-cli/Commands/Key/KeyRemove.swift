import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard key remove`
struct KeyRemove: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a key slot. The last one can't be removed.")

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
      guard !Output.isQuiet else { return }
      Output.answer("Removed slot \(slot). The remaining slots:")
      KeyList.show(result["slots"])
      Output.note("If its key and a copy of the store may have been stolen, run `lanyard key rotate`.")
    }
  }
}
