import ArgumentParser

/// `lanyard grant`
struct GrantCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "grant",
    abstract: "Manage caller grants: limit what a program may do.",
    discussion: """
      A program that presents a grant may call the methods of the grant, for the accounts of the grant, until the \
      grant ends. The secret of a grant is shown once. This program presents the grant in the file that \
      LANYARD_GRANT_FILE names. An agent with --strict-grants refuses every program without a grant.

      EXAMPLES:
        lanyard grant create ci --can tokens -u work --to ~/.config/ci/grant
        LANYARD_GRANT_FILE=~/.config/ci/grant lanyard token work
      """,
    subcommands: [GrantCreate.self, GrantList.self, GrantRevoke.self], defaultSubcommand: GrantList.self)
}
