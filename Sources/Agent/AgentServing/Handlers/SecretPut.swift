internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum SecretPutHandler: MethodHandler {
  typealias Method = SecretPut

  static func handle(_ params: SecretPut.Params, _ call: Call) async throws(AgentFailure) -> SecretPut.Result {
    let account = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.programSecrets.put(params.name, params.value, of: params.account)
    }
    return SecretPut.Result(account: account, name: params.name)
  }
}
