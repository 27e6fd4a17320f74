internal import Agent
internal import AgentCore
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum CredentialAwsHandler: MethodHandler {
  typealias Method = CredentialAws

  static func handle(_ params: CredentialAws.Params, _ call: Call) async throws(AgentFailure) -> CredentialAws.Result {
    // What goes to the service is the person's ID token.
    if call.limits?.permission.coversIDToken == false { throw .caller(.notCovered) }
    let role = try role(params)
    // A caller with a grant must not have the ID token sent where it likes.
    if call.limits != nil, !role.isAtAWS { throw .caller(.notCovered) }
    let account = try await call.agent.accounts.actor(params.account)
    let answer = try await withTimeout(seconds: params.timeoutSeconds, clock: call.agent.environment.clock) {
      () async throws(AgentFailure) in
      try await account.credentials(of: role)
    }
    guard let answer else { throw .timedOut(account.id) }
    return CredentialAws.Result(
      accessKeyId: answer.accessKeyID, secretAccessKey: answer.secretAccessKey, sessionToken: answer.sessionToken,
      expiresAt: answer.expiresAt, expiresInSeconds: Int(answer.expiresInSeconds), account: answer.account)
  }

  private static func role(_ params: CredentialAws.Params) throws(AgentFailure) -> RoleSession {
    do throws(RoleSession.Problem) {
      return try RoleSession(
        roleARN: params.roleArn, name: params.sessionName, durationSeconds: params.durationSeconds,
        endpoint: params.endpoint)
    } catch {
      switch error {
      case .role: throw .invalidParameter("/roleArn", expected: "arn:aws:iam::ACCOUNT:role/NAME")
      case .name:
        throw .invalidParameter("/sessionName", expected: "2 to 64 letters, digits and characters of _+=,.@-")
      case .endpoint:
        throw .invalidParameter("/endpoint", expected: "an https URL without a query, or http on a loopback host")
      }
    }
  }
}
