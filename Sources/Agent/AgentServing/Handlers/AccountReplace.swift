internal import Agent
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum AccountReplaceHandler: MethodHandler {
  typealias Method = AccountReplace

  static func handle(_ params: AccountReplace.Params, _ call: Call) async throws(AgentFailure) -> AccountReplace.Result
  {
    let agent = call.agent
    // No proof would show that a caller which gives a secret of its own made the account another person's.
    if call.limits != nil, try await agent.vault.profile(params.account).identity.isOfSecret {
      throw .caller(.notCovered)
    }
    let given = SecretAdmission.Given(secret: params.secret, expiresAt: params.expiresAt)
    let account = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.introductions.run { () async throws(AgentFailure) in
        try await agent.secretAdmission.replace(given, of: params.account)
      }
    }
    return AccountReplace.Result(account: account)
  }
}
