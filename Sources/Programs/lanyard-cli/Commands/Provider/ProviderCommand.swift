import ArgumentParser

/// `lanyard provider`
struct ProviderCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "provider",
    abstract: "Manage providers: add, update, list, show, test, pin, remove.",
    subcommands: [
      ProviderAdd.self, ProviderUpdate.self, ProviderList.self, ProviderShow.self, ProviderPresets.self,
      ProviderTest.self, ProviderPin.self, ProviderRemove.self,
    ])
}
