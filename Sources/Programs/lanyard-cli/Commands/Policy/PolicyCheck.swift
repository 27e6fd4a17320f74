import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard policy check`
struct PolicyCheck: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Say what is wrong with a policy document, and change nothing.",
    discussion: "Exit code 0 if nothing is, 1 otherwise.")

  @Argument(help: "The document; - reads stdin.", completion: .file(extensions: ["json"]))
  var file: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    let document = try PolicyFile(file)
    var agent = try common.connect()
    do throws(CommandFailure) {
      try agent.call("policy.validate", params: { document.write("policy", to: &$0) }) { result in
        if common.json { return Output.answer(json: result.raw) }
        Output.answer(
          Text.shown("\(result["name"]?.string ?? ""), version \(result["version"]?.text ?? ""): nothing is wrong."))
      }
    } catch {
      throw document.explaining(error)
    }
  }
}
