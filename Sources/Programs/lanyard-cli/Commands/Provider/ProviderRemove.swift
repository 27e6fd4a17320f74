import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider remove`
struct ProviderRemove: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a provider that has no accounts.",
    discussion: "Without a name, the command shows the only provider and asks; a program names it or passes --yes.")

  @Argument(help: "The provider.", completion: .providers)
  var provider: String?

  @Flag(name: [.customShort("y"), .long], help: "Do not ask, also if no provider is named.")
  var yes = false

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    let name = try provider ?? onlyProvider(via: &agent)
    try agent.call("provider.remove", params: { $0.member("provider", name) }) { result in
      if common.json { return Output.answer(json: result.raw) }
      Output.done(Text.shown("Removed \(name)."))
    }
  }

  private func onlyProvider(via agent: inout AgentConnection) throws(CommandFailure) -> String {
    let providers = try ProviderInfo.all(via: &agent)
    guard let only = providers.first, providers.count == 1 else {
      throw .usage(
        providers.isEmpty ? "No provider is configured." : "Name the provider to remove.",
        hints: providers.map { "\($0.name)  \($0.issuer)" })
    }
    guard !yes else { return only.name }
    guard Terminal.canAsk, !common.json else {
      throw .usage(
        "No provider was named. This would remove \(only.name) (\(only.issuer)). Nothing was changed.",
        hints: ["Name it: `lanyard provider remove \(only.name)`. Or add --yes to remove it without asking."])
    }
    guard Terminal.confirm(Text.shown("Remove \(only.name) (\(only.issuer))?")) else {
      throw CommandFailure(.other, name: "declined", "Nothing was changed.")
    }
    return only.name
  }
}
