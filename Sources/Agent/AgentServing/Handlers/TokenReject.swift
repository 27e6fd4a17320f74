internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

/// Answers after a resource refused a token: with the current token if the refused one was older, otherwise with the
/// result of one forced exchange.
enum TokenRejectHandler: MethodHandler {
  typealias Method = TokenReject

  static func handle(_ params: TokenReject.Params, _ call: Call) async throws(AgentFailure) -> TokenReject.Result {
    let account = try await call.agent.accounts.actor(params.account)
    try refuse(demandIn: params.challenge, of: account.id, call)
    if let exchanged = try await account.replacementOfDerived(
      params.fingerprint, within: call.limits?.permission)
    {
      return WireToken(exchanged)
    }
    return WireToken(try await account.replacement(of: params.fingerprint, within: call.limits?.permission))
  }

  /// A challenge that no exchange can answer: the provider wants the person (RFC 9470 §3). It is noted for the next
  /// sign-in, unless the caller is limited: the challenge is its own word, and it has no part in what the person's
  /// sign-in asks for.
  static func refuse(demandIn challenge: String?, of account: AccountID, _ call: Call) throws(AgentFailure) {
    let challenges = challenge.map { AuthenticationChallenge.all(in: [$0]) } ?? []
    guard let demand = challenges.first(where: { demands.contains($0.parameters["error"] ?? "") }) else { return }
    if call.limits == nil, let whole = InteractionDemand([demand]) { call.agent.demands.note(whole, of: account) }
    throw .token(
      .interaction(claims: demand.parameters["claims"].flatMap { $0.isEmpty ? nil : $0 }), account)
  }

  /// Scopes that are missing are left to `token.get`, which takes them.
  private static let demands: Set<String> = ["insufficient_user_authentication", "insufficient_claims"]
}
