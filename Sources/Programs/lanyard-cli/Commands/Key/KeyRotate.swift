import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard key rotate`
struct KeyRotate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate", abstract: "Seal everything under another root key. Every slot goes on opening the vault.",
    discussion: """
      Each account is sealed again under new keys; programs are served meanwhile. If it is cut off, the agent goes on \
      with it when it starts. Data that only a PIN opens keeps its key until then.
      """)

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    let id = try agent.send("agent.rotateRootKey") { _ in }
    try LongWork("Sealing everything again").wait(for: "agent.rotateRootKey", id, over: &agent) { result in
      if common.json { return Output.answer(json: result.raw) }
      let epoch = result["keyEpoch"]?.integer.map { String($0) } ?? "-"
      Output.answer("Everything is under another root key, the \(epoch). of this vault.")
    }
  }
}
