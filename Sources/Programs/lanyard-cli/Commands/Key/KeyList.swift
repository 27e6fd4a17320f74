import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard key [list]`
struct KeyList: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List the key slots.")

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("agent.listKeySlots") { result in
      if common.json { return Output.answer(json: result.raw) }
      Self.show(result["slots"])
    }
  }

  static func show(_ slots: JSONNode?) {
    var table = Table(["SLOT", "OPENED BY", "SINCE", ""], whole: ["SLOT", "SINCE"], folded: ["OPENED BY", ""])
    for slot in slots.map({ Array($0.elements) }) ?? [] {
      let protection = slot["protection"]?.string ?? "-"
      let since = slot["createdAt"]?.string.flatMap { Moment($0) }
      table.add([
        .init(slot["slot"]?.integer.map { String($0) } ?? "-"),
        .init(Protection(name: protection)?.displayName ?? protection), .init(since?.relative ?? "-"),
        slot["opened"]?.bool == true ? .init("opened the vault this time") : "",
      ])
    }
    table.print()
  }
}
