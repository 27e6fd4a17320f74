import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard policy check`
struct PolicyCheck: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Check a policy document without setting it.",
    discussion: "Prints every problem with its place in the file. Exit code 1 if there is one.")

  @Argument(help: "The policy document; - reads stdin.", completion: .file(extensions: ["json"]))
  var file: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    let document = try PolicyFile(file)
    var agent = try common.connect()
    do throws(CommandFailure) {
      try agent.call("policy.validate", params: { document.write("policy", to: &$0) }) { result in
        if common.json { return Output.answer(json: result.raw) }
        Output.done(
          Text.shown("\(result["name"]?.string ?? ""), version \(result["version"]?.text ?? ""): no problems."))
        for line in document.overview { Output.note(Text.shown(line)) }
      }
    } catch {
      throw document.explaining(error)
    }
  }
}
