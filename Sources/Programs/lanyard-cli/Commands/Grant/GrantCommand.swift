import ArgumentParser

/// `lanyard grant`
struct GrantCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "grant",
    abstract: "Let a program do some things for some accounts, and nothing else.",
    discussion: """
      A program that says its grant to the agent may call the methods that the grant names, for the accounts that it \
      names, until it ends. What it says is a secret: it is told once. For this program, LANYARD_GRANT_FILE names the \
      file of a grant. An agent that runs with --strict-grants serves nobody without one.

      EXAMPLES:
        lanyard grant create ci -m token.get -u work --expires-in 7d --to ~/.config/ci/grant
        LANYARD_GRANT_FILE=~/.config/ci/grant lanyard token work
      """,
    subcommands: [GrantCreate.self, GrantList.self, GrantRevoke.self], defaultSubcommand: GrantList.self)
}
