import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard policy set`
struct PolicySet: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Set a policy from a file.",
    discussion: """
      The policy takes effect at once for every account whose provider names it. A policy named default applies to the \
      accounts of all other providers. The agent refuses a lower version than the one in force. If the document is not \
      valid, every problem is shown with its place in the file, and nothing changes.

      EXAMPLES:
        lanyard policy set field-service.policy.json --provider corp
      """)

  @Argument(help: "The policy document; - reads stdin.", completion: .file(extensions: ["json"]))
  var file: String

  @Option(name: .long, help: "The policy's name. Default: the name in the document.", completion: .policies)
  var name: String?

  @Option(
    name: .long, help: "A provider to which it applies; may be repeated.", completion: .providers)
  var provider: [String] = []

  @OptionGroup var common: CommonOptions

  func run() throws {
    let document = try PolicyFile(file)
    guard let name = name ?? document.name else {
      throw CommandFailure.usage("The document has no name. Give one with --name. Nothing was sent.")
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
          Output.done(
            Text.shown(
              "\(result["name"]?.string ?? name), version \(result["version"]?.text ?? ""), is set.\(previous)"))
          for line in document.idleApprovals { Output.note(Text.shown(line)) }
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
    try tellIfUnused(name, via: &agent)
  }

  /// Notes that no provider names the policy, so that it has no effect.
  private func tellIfUnused(_ name: String, via agent: inout AgentConnection) throws(CommandFailure) {
    guard provider.isEmpty, name != Self.standardName, !common.json else { return }
    guard try !ProviderInfo.all(via: &agent).contains(where: { $0.policy == name }) else { return }
    Output.note(
      Text.shown("No provider names this policy yet, so it has no effect. Set it again with `--provider NAME`.")
    )
  }

  /// The policy of providers that name none.
  private static let standardName = "default"
}
