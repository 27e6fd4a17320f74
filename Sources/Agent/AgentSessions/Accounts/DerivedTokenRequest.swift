internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentRecords
internal import AgentStore

/// One caller's request for an exchanged token, of which its permission is checked.
struct DerivedTokenRequest {
  var key: DerivedTokenKey
  /// The account gives none from memory, as it gives no access token.
  var isWithheld: Bool

  func answer(from account: isolated Account) async throws(AgentFailure) -> DerivedTokenAnswer {
    let derived = account.derived
    account.noticeReachability()
    switch isWithheld ? .ask : derived.wanted(key, at: account.clock.boot()) {
    case .answer(let serial): return try answer(serial, .cache, account)
    case .refuse(_, _, let stale?): return try answer(stale, .staleOk, account)
    case .refuse(let failure, let pause, nil): throw .exchange(failure, retryAfter: pause, account.id)
    case .ask: break
    }
    do throws(AgentFailure) {
      return try answer(try await AccountDerivedTokens.ask(key, of: account), .refreshed, account)
    } catch {
      // A failure spoils nothing that still works.
      guard error.mayPass, account.loaded?.machine.servesTokens == true,
        let stale = derived.live(key, at: account.clock.boot())
      else {
        throw error
      }
      if case .cancelled = error { throw error }
      return try answer(stale, .staleOk, account)
    }
  }

  private func answer(
    _ serial: UInt64, _ source: TokenMachine.Source, _ account: isolated Account
  ) throws(AgentFailure) -> DerivedTokenAnswer {
    guard let token = account.derived[serial], let profile = account.loaded?.profile else {
      throw .token(.signedOut, account.id)
    }
    let left = token.facts.expiresAt - account.clock.boot()
    return DerivedTokenAnswer(
      token: token, account: account.id, issuer: profile.identity.issuer, source: source,
      expiresAt: account.dependencies.time.moment(token.facts.expiresAt, of: profile.provider),
      expiresInSeconds: max(0, left.wholeSeconds))
  }
}
