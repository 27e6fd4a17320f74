import ArgumentParser
import CommandSupport

/// The options of every command.
struct CommonOptions: ParsableArguments {
  @Option(
    name: [.customShort("u"), .long],
    help: ArgumentHelp("The account to use: an alias or an id.", valueName: "account"),
    completion: .accounts)
  var account: String?

  @Flag(name: .long, help: "Print the answer as JSON on one line; errors go to stderr as JSON.")
  var json = false

  @Flag(name: .long, help: "Do not start an agent.")
  var noStart = false

  /// Connects to the agent. Starts one if needed.
  func connect() throws(CommandFailure) -> AgentConnection { try Agent.connect(mayStart: !noStart) }
}

/// The option `--pw-file`.
struct PassphraseOptions: ParsableArguments {
  @Option(
    name: [.customLong("pw-file"), .customLong("passphrase-file")],
    help: ArgumentHelp("A file with the passphrase; - reads stdin.", valueName: "file"), completion: .file())
  var passphraseFile: String?
}

extension CompletionKind {
  /// Aliases and ids of the accounts, if an agent runs.
  static var accounts: CompletionKind {
    .custom { _, _, _ in
      (try? AccountInfo.all(Agent.connect(mayStart: false)).map(\.label)) ?? []
    }
  }

  /// Names of the providers, if an agent runs.
  static var providers: CompletionKind {
    .custom { _, _, _ in
      (try? ProviderInfo.all(Agent.connect(mayStart: false)).map(\.name)) ?? []
    }
  }
}
