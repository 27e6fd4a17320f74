internal import Agent
internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

enum AccountAddHandler: MethodHandler {
  typealias Method = AccountAdd

  static func handle(_ params: AccountAdd.Params, _ call: Call) async throws(AgentFailure) -> AccountAdd.Result {
    let agent = call.agent
    // Its file may be there by now.
    await agent.lookAgain()
    let provider = try await agent.vault.provider(named: params.provider.text)
    try check(params, at: provider)
    // From here on it is the agent's work: a caller that goes away leaves no account half added.
    let account = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.introductions.run { () async throws(AgentFailure) in
        guard let secret = params.secret else {
          return try await agent.machineAdmission.add(at: provider, alias: params.alias, by: call.limits)
        }
        let given = SecretAdmission.Given(
          secret: secret, username: params.username, alias: params.alias, expiresAt: params.expiresAt)
        return try await agent.secretAdmission.add(given, at: provider, by: call.limits)
      }
    }
    return AccountAdd.Result(account: account)
  }

  /// The members that an account of the provider's kind has: a secret, or none of what goes with one.
  private static func check(_ params: AccountAdd.Params, at provider: Provider) throws(AgentFailure) {
    let kind = provider.configuration.kind
    switch kind {
    case .openid:
      throw .invalidParameter("/provider", expected: "a provider without a sign-in; `signIn.begin` signs in")
    case .client:
      let members = [
        ("secret", params.secret != nil), ("username", params.username != nil), ("expiresAt", params.expiresAt != nil),
      ]
      guard let (name, _) = members.first(where: \.1) else { return }
      throw .invalidParameter("/" + name, expected: "nothing for a provider of the kind \(kind.rawValue)")
    case .secret:
      guard params.secret != nil else { throw .invalidParameter("/secret", expected: "the secret") }
      guard let username = params.username else { return }
      do throws(SecretPlacement.Refusal) {
        try SecretPlacement.check(username: username)
      } catch {
        throw .invalidParameter(error.path, expected: error.expected)
      }
    }
  }
}
