import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider presets`
struct ProviderPresets: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "presets", abstract: "List the known servers, and how to add each.")

  @OptionGroup var common: CommonOptions

  func run() {
    guard !common.json else {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("presets", Presets.all)
      writer.endObject()
      return writer.withBytes { Output.answer(json: $0) }
    }
    var facts = Facts()
    for name in Presets.all { facts.add(name, Presets.command(adding: name)) }
    facts.print()
  }
}
