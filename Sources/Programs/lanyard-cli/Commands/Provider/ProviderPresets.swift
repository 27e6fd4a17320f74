import AgentCore
import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider presets`
struct ProviderPresets: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "presets", abstract: "List the known servers and services, and how to add each.",
    discussion: """
      WORD finds by name, host, what people use it for (code, chat, mail, calendar, files, issues, cloud, ai, payments, \
      monitoring, packages, design, home, identity), or a variable of the environment. What programs do at one service, \
      for `lanyard policy draft`, is shown with its exact name. Words in capitals are yours. `lanyard provider add URL` \
      finds the preset of a server by itself.

      EXAMPLES:
        lanyard provider presets
        lanyard provider presets okta
        lanyard provider presets OPENAI_API_KEY
      """)

  @Argument(help: "Only these.", completion: .list(Presets.all))
  var word: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    let shown = try KnownService.found(by: word)
    guard !common.json else { return Self.write(shown) }
    let columns = max(Terminal.answerColumns, Self.fewestColumns)
    for (index, service) in shown.enumerated() {
      if index > 0 { Output.answer("") }
      for line in service.lines(columns: columns, showsAll: service.preset.name == word) {
        Output.answer(Text.shown(line))
      }
    }
  }

  private static let fewestColumns = 40

  private static func write(_ services: [KnownService]) {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("presets", services.map(\.preset.name))
    writer.key("servers")
    writer.beginArray()
    for service in services { service.write(to: &writer) }
    writer.endArray()
    writer.endObject()
    writer.withBytes { Output.answer(json: $0) }
  }
}
