import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard key rotate`
struct KeyRotate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate", abstract: "Encrypt everything under a new root key. All key slots keep working.",
    discussion: """
      The agent encrypts each account again under new keys, and serves programs meanwhile. If this is interrupted, the \
      agent resumes at its next start. Data under a PIN keeps its key.
      """)

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    let id = try agent.send("agent.rotateRootKey") { _ in }
    try LongWork("Encrypting everything under a new root key").wait(for: id, via: &agent) { result in
      if common.json { return Output.answer(json: result.raw) }
      let epoch = result["keyEpoch"]?.integer.map { String($0) } ?? "-"
      Output.done("Everything is encrypted under a new root key (key epoch \(epoch)).")
    }
  }
}
