internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum SecretListHandler: MethodHandler {
  typealias Method = SecretList

  static func handle(_ params: SecretList.Params, _ call: Call) async throws(AgentFailure) -> SecretList.Result {
    let (account, names) = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.programSecrets.names(of: params.account)
    }
    return SecretList.Result(account: account, names: names)
  }
}
