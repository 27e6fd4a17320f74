internal import Agent
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum SignInImportHandler: MethodHandler {
  typealias Method = SignInImport

  static func handle(_ params: SignInImport.Params, _ call: Call) async throws(AgentFailure) -> SignInImport.Result {
    let agent = call.agent
    // The work is the agent's: a caller that goes away must not lose a token that the provider has rotated.
    let admitted = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.introductions.run { () async throws(AgentFailure) in
        try await agent.signIns.takeOver(
          params.refreshToken, provider: params.provider.text, alias: params.alias, by: call.limits)
      }
    }
    return SignInImport.Result(account: admitted.profile.id)
  }
}
