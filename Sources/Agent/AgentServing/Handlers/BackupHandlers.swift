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

enum AgentRestoreHandler: MethodHandler {
  typealias Method = AgentRestore

  static func handle(_ params: AgentRestore.Params, _ call: Call) async throws(AgentFailure) -> AgentRestore.Result {
    let agent = call.agent
    try await agent.vault.requireOpen()
    let passphrase = try await agent.backupPassphrase(params.passphrase, asks: params.prompt != nil, .backupPassphrase)
    let restored = try await agent.background.finish { () async throws(AgentFailure) in
      let restored = try await agent.backups.restore(from: params.path, by: passphrase)
      await agent.vault.reconcile()
      return restored
    }
    return AgentRestore.Result(
      accounts: restored.accounts.map { WireAccount(listed: $0, agent, active: nil) },
      skipped: restored.skipped.map { WireSkippedItem($0) },
      providers: restored.providers, policies: restored.policies, createdAt: restored.createdAt)
  }
}
