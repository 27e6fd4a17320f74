import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard revocations [list]`
struct RevocationsList: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "Show what waits.")

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("revocation.list") { Self.show($0, json: common.json) }
  }

  /// What still waits.
  static func show(_ result: JSONNode, json: Bool) {
    if json { return Output.answer(json: result.raw) }
    func moment(_ node: JSONNode?) -> String { node?.string.flatMap { Moment($0) }?.relative ?? "-" }
    var table = Table(["REVOCATION", "ACCOUNT", "ISSUER", "ATTEMPTS", "NEXT", "GIVEN UP", "LAST ERROR"])
    var count = 0
    for entry in result["revocations"].map({ Array($0.elements) }) ?? [] {
      count += 1
      let error = [entry["lastError"]?["name"]?.string, entry["lastError"]?["reason"]?.string].compactMap { $0 }
      table.add([
        .init(entry["id"]?.string ?? ""), .init(entry["accountLabel"]?.string ?? ""),
        .init(entry["issuer"]?.string ?? ""), .init(entry["attempts"]?.text ?? "0"),
        .init(moment(entry["nextAttemptAt"])), .init(moment(entry["expiresAt"])),
        .init(error.isEmpty ? "-" : error.joined(separator: ", ")),
      ])
    }
    if count == 0 { Output.note("No revocation waits.") } else { table.print() }
  }
}
