import ArgumentParser
import CommandSupport
import JSONRPC

/// Words that a shell completes. Those of a running agent are left out if none runs.
extension CompletionKind {
  /// Aliases, else ids, of the accounts.
  static var accounts: CompletionKind {
    .custom { _, _, _ in (try? AccountInfo.all(Agent.completing()).map(\.label)) ?? [] }
  }

  /// Names of the providers.
  static var providers: CompletionKind {
    .custom { _, _, _ in (try? ProviderInfo.all(Agent.completing()).map(\.name)) ?? [] }
  }

  /// Methods of the agent that runs.
  static var methods: CompletionKind {
    .custom { _, _, _ in
      words { agent throws(CommandFailure) in
        try agent.call("rpc.discover") { result in
          result["methods"]?.elements.compactMap { $0["name"]?.string } ?? []
        }
      }
    }
  }

  /// What the running agent answers; nothing if none runs.
  static func words(
    _ ask: (inout AgentConnection) throws(CommandFailure) -> [String]
  ) -> [String] {
    guard var agent = try? Agent.completing() else { return [] }
    return (try? ask(&agent)) ?? []
  }
}

extension Agent {
  /// The line that is completed is no place to tell of waiting.
  fileprivate static func completing() throws(CommandFailure) -> AgentConnection {
    try connect(mayStart: false, tellsWaiting: false)
  }
}
