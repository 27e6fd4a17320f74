internal import Agent
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import AgentUpkeep

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
