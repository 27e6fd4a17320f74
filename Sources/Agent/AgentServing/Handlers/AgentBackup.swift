internal import Agent
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import AgentUpkeep

enum AgentBackupHandler: MethodHandler {
  typealias Method = AgentBackup

  static func handle(_ params: AgentBackup.Params, _ call: Call) async throws(AgentFailure) -> AgentBackup.Result {
    let agent = call.agent
    // Require an open vault before the person is asked for a passphrase.
    try await agent.vault.requireOpen()
    let passphrase = try await agent.backupPassphrase(
      params.passphrase, asks: params.prompt != nil, .newBackupPassphrase)
    // To its end, also if the client goes away: nothing is left lying about.
    let written = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.backups.backUp(
        to: params.path, by: passphrase, includesRefreshTokens: params.includeRefreshTokens)
    }
    return AgentBackup.Result(
      path: params.path, accounts: written.accounts, providers: written.providers, policies: written.policies,
      skipped: written.skipped.map { WireSkippedItem($0) }, bytes: written.bytes, createdAt: written.createdAt)
  }
}
