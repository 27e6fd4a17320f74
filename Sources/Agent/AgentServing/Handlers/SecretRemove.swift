internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum SecretRemoveHandler: MethodHandler {
  typealias Method = SecretRemove

  static func handle(_ params: SecretRemove.Params, _ call: Call) async throws(AgentFailure) -> SecretRemove.Result {
    let account = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.programSecrets.remove(params.name, of: params.account)
    }
    return SecretRemove.Result(account: account, name: params.name)
  }
}
