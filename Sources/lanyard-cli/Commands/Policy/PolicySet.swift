import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard policy set`
struct PolicySet: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Set a policy from a file, if nothing is wrong with it.",
    discussion: """
      It takes effect at once, for every account whose provider names it. A version never decreases; what is wrong is \
      told all together, each with its place in the file.
      """)

  @Argument(help: "The document; - reads stdin.", completion: .file(extensions: ["json"]))
  var file: String

  @Option(name: .long, help: "The policy's name; the one in the document, if left out.", completion: .policies)
  var name: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    let document = try PolicyFile(file)
    guard let name = name ?? document.name else {
      throw CommandFailure.usage("The document has no name. Give it one by --name. Nothing was sent.")
    }
    var agent = try common.connect()
    do throws(CommandFailure) {
      try agent.call(
        "policy.set",
        params: { writer in
          writer.member("name", name)
          document.write("policy", to: &writer)
        },
        result: { result in
          if common.json { return Output.answer(json: result.raw) }
          let previous = result["previousVersion"]?.integer.map { " Before, it was version \($0)." } ?? ""
          Output.answer(
            Text.shown(
              "\(result["name"]?.string ?? name), version \(result["version"]?.text ?? ""), is set.\(previous)"))
        })
    } catch {
      throw document.explaining(error)
    }
  }
}
