import ArgumentParser
import CommandSupport

/// The options of every command.
struct CommonOptions: ParsableArguments {
  @Option(
    name: [.customShort("u"), .long],
    help: ArgumentHelp("The account to use: its alias, e-mail address, name or id.", valueName: "account"),
    completion: .accounts)
  var account: String?

  @Flag(name: .long, help: "Print the answer as JSON on one line; errors go to stderr as JSON.")
  var json = false

  @Flag(name: .long, help: "Do not start an agent.")
  var noStart = false

  /// `LanyardCLI.main` acts on it before anything is printed.
  @Flag(name: .shortAndLong, help: "No notes and no warnings: only the answer, and failures.")
  var quiet = false

  /// `LanyardCLI.run` acts on it when a command fails.
  @Flag(name: .long, help: "After a failure, also tell what the provider said.")
  var verbose = false

  /// Connects to the agent. Starts one if needed.
  func connect() throws(CommandFailure) -> AgentConnection { try Agent.connect(mayStart: !noStart) }

  /// What to send for `--account`; nil without the option.
  func namedAccount(via agent: inout AgentConnection) throws(CommandFailure) -> String? {
    guard account != nil else { return nil }
    return try AccountSelection.choose(argument: account).located(via: &agent)
  }
}

/// The option `--pw-file`.
struct PassphraseOptions: ParsableArguments {
  @Option(
    name: [.customLong("pw-file"), .customLong("passphrase-file")],
    help: ArgumentHelp("A file with the passphrase; - reads stdin.", valueName: "file"), completion: .file())
  var passphraseFile: String?
}
