import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard policy set`
struct PolicySet: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Set a policy from a file, if nothing is wrong with it.",
    discussion: """
      It takes effect at once, for every account whose provider names it; a policy named default is for the accounts \
      of the providers that name none. A version never decreases; what is wrong is told all together, each with its \
      place in the file.

      EXAMPLES:
        lanyard policy set field-service.policy.json --provider corp    # and corp's accounts are under it
      """)

  @Argument(help: "The document; - reads stdin.", completion: .file(extensions: ["json"]))
  var file: String

  @Option(name: .long, help: "The policy's name; the one in the document, if left out.", completion: .policies)
  var name: String?

  @Option(
    name: .long, help: "A provider whose accounts come under it; may be given again.", completion: .providers)
  var provider: [String] = []

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
    for provider in provider {
      try agent.call(
        "provider.update",
        params: { writer in
          writer.member("provider", provider)
          writer.member("policy", name)
        }, result: { _ in })
    }
    try tellIfUnused(name, over: &agent)
  }

  /// Somebody who set a policy believes that it is in force.
  private func tellIfUnused(_ name: String, over agent: inout AgentConnection) throws(CommandFailure) {
    guard provider.isEmpty, name != Self.standardName, !common.json else { return }
    guard try !ProviderInfo.all(over: &agent).contains(where: { $0.policy == name }) else { return }
    Output.note(
      Text.shown("No provider names it yet, so nobody is under it: `--provider NAME` puts a provider's accounts there.")
    )
  }

  /// That of the providers that name none.
  private static let standardName = "default"
}
