import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider show`
struct ProviderShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show one provider.", discussion: "Its client secret is never shown.")

  @Argument(help: "The provider.", completion: .providers)
  var provider: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("provider.get", params: { $0.member("provider", provider) }) { result in
      if common.json { return Output.answer(json: result.raw) }
      var facts = Facts()
      for (key, value) in (result["provider"] ?? result).members {
        facts.add(key.string ?? "", value.displayText)
      }
      facts.print()
    }
  }
}
