internal import Agent
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum AccountAddHandler: MethodHandler {
  typealias Method = AccountAdd

  static func handle(_ params: AccountAdd.Params, _ call: Call) async throws(AgentFailure) -> AccountAdd.Result {
    let agent = call.agent
    if let username = params.username { try AccountAddHandler.check(username: username) }
    let given = SecretAdmission.Given(
      secret: params.secret, username: params.username, alias: params.alias, expiresAt: params.expiresAt)
    // From here on it is the agent's work: a caller that goes away leaves no account half added.
    let account = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.introductions.run { () async throws(AgentFailure) in
        try await agent.secretAdmission.add(given, at: params.provider, by: call.limits)
      }
    }
    return AccountAdd.Result(account: account)
  }

  private static func check(username: String) throws(AgentFailure) {
    do throws(SecretPlacement.Refusal) {
      try SecretPlacement.check(username: username)
    } catch {
      throw .invalidParameter(error.path, expected: error.expected)
    }
  }
}
