import ArgumentParser

/// `lanyard provider`
struct ProviderCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "provider",
    abstract: "Add, show and remove the providers at which one can sign in.",
    subcommands: [ProviderAdd.self, ProviderList.self, ProviderShow.self, ProviderRemove.self])
}
