internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
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

enum SecretListHandler: MethodHandler {
  typealias Method = SecretList

  static func handle(_ params: SecretList.Params, _ call: Call) async throws(AgentFailure) -> SecretList.Result {
    let (account, names) = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.programSecrets.names(of: params.account)
    }
    return SecretList.Result(account: account, names: names)
  }
}

enum SecretRemoveHandler: MethodHandler {
  typealias Method = SecretRemove

  static func handle(_ params: SecretRemove.Params, _ call: Call) async throws(AgentFailure) -> SecretRemove.Result {
    let account = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.programSecrets.remove(params.name, of: params.account)
    }
    return SecretRemove.Result(account: account, name: params.name)
  }
}
