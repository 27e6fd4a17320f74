internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum AccountSignOutHandler: MethodHandler {
  typealias Method = AccountSignOut

  static func handle(_ params: AccountSignOut.Params, _ call: Call) async throws(AgentFailure) -> AccountSignOut.Result
  {
    let agent = call.agent
    let id = try await agent.vault.profile(params.account).id
    // From here on it is the agent's work: a caller that goes away leaves no account half signed out.
    let answer = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.signOuts.signOut(
        id, SignOutMode(params.mode), revocationTimeoutSeconds: params.revocationTimeoutSeconds)
    }
    return AccountSignOut.Result(
      account: id, mode: WireSignOutMode(answer.mode),
      demandedBy: agent.environment.configuration.hardSignOutDemandedBy, data: WireDataDisposition(answer.outcome.data),
      revocation: WireRevocationOutcome(answer.outcome.revocation), nextAttemptAt: answer.nextAttemptAt,
      // It carries the ID token, which is not for a caller whose tokens are limited.
      endSessionUrl: call.limits?.permission.limitsTokens == true ? nil : answer.endSessionURL)
  }
}
