import ArgumentParser

/// `lanyard revocations`
struct RevocationsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revocations",
    abstract: "Manage revocations that wait for their provider.",
    discussion: """
      After a sign-out, the agent asks the provider to revoke the tokens until it succeeds. `lanyard revocations send` \
      asks now. No command shows the tokens.
      """,
    subcommands: [RevocationsList.self, RevocationsSend.self, RevocationsAbandon.self],
    defaultSubcommand: RevocationsList.self)
}
