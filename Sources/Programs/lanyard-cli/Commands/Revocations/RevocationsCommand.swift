import ArgumentParser

/// `lanyard revocations`
struct RevocationsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revocations",
    abstract: "Show the tokens of signed-out accounts that their providers have not revoked yet.",
    discussion: "The agent sends them by itself when it can. No command shows the tokens.",
    subcommands: [RevocationsList.self, RevocationsRetry.self, RevocationsAbandon.self],
    defaultSubcommand: RevocationsList.self)
}
