import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard revocations [list]`
struct RevocationsList: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List the revocations that wait.")

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    guard !common.json else { return try agent.call("revocation.list") { Output.answer(json: $0.raw) } }
    let entries = try agent.call("revocation.list") { RevocationInfo.all($0) }
    guard !entries.isEmpty else { return Output.note("No revocation waits.") }
    for line in entries.flatMap(\.lines) { Output.answer(text: line) }
  }
}
