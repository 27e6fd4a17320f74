internal import Agent
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum SessionGetHandler: MethodHandler {
  typealias Method = SessionGet

  static func handle(_ params: SessionGet.Params, _ call: Call) async throws(AgentFailure) -> SessionGet.Result {
    let (_, account) = try await call.agent.accounts.account(params.account)
    let facts = try await account.session()
    var session = WireSession(facts)
    session.stepUpValidUntil = call.agent.stepUps.validUntil(session.account).map {
      call.agent.time.moment($0, of: facts.profile.provider)
    }
    // Signed in again, and the PIN not said yet: tokens flow, and what the account's programs keep does not open.
    if session.state != .signedOut, await isDataUnderPIN(session.account, call) {
      session.remedies.insert(.stepUp, at: session.remedies.first == .connect ? 1 : 0)
    }
    return session
  }

  private static func isDataUnderPIN(_ id: AccountID, _ call: Call) async -> Bool {
    (try? await call.agent.vault.read { vault throws(AgentFailure) in vault.stepUp.isDataUnderPIN(id) }) ?? false
  }
}
