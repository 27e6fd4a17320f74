import ArgumentParser
import CommandSupport

/// What every command takes.
struct CommonOptions: ParsableArguments {
  @Option(
    name: [.customShort("u"), .long],
    help: ArgumentHelp("The account to speak for: an alias or an id.", valueName: "account"),
    completion: .accounts)
  var account: String?

  @Flag(name: .long, help: "Print the answer as JSON on one line; errors go to stderr as JSON.")
  var json = false

  @Flag(name: .long, help: "Fail if no agent runs, instead of starting one.")
  var noStart = false

  /// The agent, started if need be.
  func connect() throws(CommandFailure) -> AgentConnection { try Agent.connect(mayStart: !noStart) }
}

extension CompletionKind {
  /// The aliases and ids that a running agent knows; none if no agent runs.
  static var accounts: CompletionKind {
    .custom { _, _, _ in
      (try? AccountInfo.all(Agent.connect(mayStart: false)).map(\.label)) ?? []
    }
  }

  /// The providers that a running agent knows.
  static var providers: CompletionKind {
    .custom { _, _, _ in
      (try? ProviderInfo.all(Agent.connect(mayStart: false)).map(\.name)) ?? []
    }
  }
}
