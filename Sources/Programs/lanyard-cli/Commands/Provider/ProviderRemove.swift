import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider remove`
struct ProviderRemove: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a provider that has no accounts.")

  @Argument(help: "The provider.", completion: .providers)
  var provider: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("provider.remove", params: { $0.member("provider", provider) }) { result in
      if common.json { return Output.answer(json: result.raw) }
      Output.answer(Text.shown("Removed \(provider)."))
    }
  }
}
