internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum IdentityGetHandler: MethodHandler {
  typealias Method = IdentityGet

  static func handle(_ params: IdentityGet.Params, _ call: Call) async throws(AgentFailure) -> IdentityGet.Result {
    if call.limits?.permission.coversIDToken == false { throw .caller(.notCovered) }
    let account = try await call.agent.accounts.actor(params.account)
    let minimum = Milliseconds.seconds(Int64(params.minimumLifetimeSeconds))
    let answer = try await withTimeout(seconds: params.timeoutSeconds, clock: call.agent.environment.clock) {
      () async throws(AgentFailure) in
      try await account.idToken(
        minimumLifetime: minimum, patience: params.timeoutSeconds == nil ? TokenMachine.callersPatience : nil)
    }
    guard let answer else { throw .timedOut(account.id) }
    return IdentityGet.Result(
      idToken: answer.secret, expiresAt: answer.expiresAt, expiresInSeconds: Int(answer.expiresInSeconds),
      audience: answer.audiences, issuer: answer.issuer, account: answer.account)
  }
}
