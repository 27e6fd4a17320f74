internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum SecretGetHandler: MethodHandler {
  typealias Method = SecretGet

  static func handle(_ params: SecretGet.Params, _ call: Call) async throws(AgentFailure) -> SecretGet.Result {
    await call.agent.accounts.settle(call.agent.tokenCache.accounts(selector: params.account))
    let (account, value) = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.programSecrets.value(params.name, of: params.account)
    }
    return SecretGet.Result(account: account, name: params.name, value: value)
  }
}
