import ArgumentParser

/// `lanyard provider`
struct ProviderCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "provider",
    abstract: "Manage providers: add, list, show, test, pin, remove.",
    subcommands: [
      ProviderAdd.self, ProviderList.self, ProviderShow.self, ProviderTest.self, ProviderPin.self, ProviderRemove.self,
    ])
}
