import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider list`
struct ProviderList: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List the providers.")

  @OptionGroup var tables: TableOptions

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    if common.json {
      try agent.call("provider.list") { Output.answer(json: $0.raw) }
      return
    }
    let providers = try ProviderInfo.all(via: &agent)
    guard !providers.isEmpty else {
      return Output.note("No provider is configured. `lanyard provider add NAME --issuer URL --client-id ID` adds one.")
    }
    // Names are typed into other commands.
    let isManaged = providers.contains { $0.source != nil }
    var table = Table(
      ["PROVIDER", "ISSUER", "CLIENT", "SCOPES"] + (isManaged ? ["SET BY"] : []), whole: ["PROVIDER"],
      folded: ["SCOPES"])
    for provider in providers {
      let row: [Table.Cell] = [
        .init(provider.name, .bold), .init(provider.issuer), .init(provider.clientID),
        .init(provider.scopes.isEmpty ? "-" : provider.scopes.joined(separator: " ")),
      ]
      table.add(row + (isManaged ? [.init(provider.source ?? "you")] : []))
    }
    table.print(tables)
  }
}
