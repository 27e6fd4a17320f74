internal import AgentCore
internal import AgentModel
internal import AgentRecords
internal import AgentStore

/// One caller's request for an ID token.
struct IDTokenRequest {
  var minimumLifetime: Milliseconds

  func answer(from account: isolated Account) async throws(AgentFailure) -> IDTokenAnswer {
    var hasRefreshed = false
    var hasReadKeys = false
    while true {
      try await account.load()
      if account.loaded?.machine.health == .signedOut { throw .token(.signedOut, account.id) }
      // Where no access token is served, no ID token is: a look at the provider comes first.
      if account.loaded?.machine.servesTokens == false {
        _ = try await account.answer(to: .forced, for: .standard)
        hasRefreshed = true
        continue
      }
      try await AccountIdentity.open(of: account)
      guard let loaded = account.loaded else { throw .locked }
      let now = account.dependencies.time.now(for: loaded.profile.provider)
      switch account.identity.machine.step(minimum: minimumLifetime, isLast: hasRefreshed, at: now) {
      case .answer(let serial):
        let mustReadKeys = account.identity.mustReadKeys(for: serial, of: account)
        // Its key was withdrawn.
        guard account.identity[serial] != nil else { continue }
        if mustReadKeys, !hasReadKeys {
          hasReadKeys = true
          // Without an answer the token is as good as it was.
          try? await AccountIdentity.check(of: account)
          if Task.isCancelled { throw .cancelled }
          continue
        }
        guard let answer = answer(serial, at: now, from: account) else { throw .locked }
        return answer
      case .verify:
        do throws(AgentFailure) {
          try await AccountIdentity.check(of: account)
        } catch {
          guard let answer = answer(after: error, from: account) else { throw error }
          return answer
        }
      case .refresh:
        do throws(AgentFailure) {
          try await refresh(account)
          hasRefreshed = true
        } catch {
          guard let answer = answer(after: error, from: account) else { throw error }
          return answer
        }
      case .refuse(let lack): throw .identityLacks(lack, account.id)
      }
    }
  }

  /// Joins the exchange in flight, or begins one.
  private func refresh(_ account: isolated Account) async throws(AgentFailure) {
    guard let loaded = account.loaded else { throw .locked }
    // Without the scope a refresh brings none (OpenID Connect Core §3.1.2.1), but some providers don't name it.
    if !account.identity.wasIssued, !loaded.grant.scopes.names.contains("openid") {
      throw .identityLacks(.noIDToken, account.id)
    }
    // An attempt would end the session of an access token that still lives.
    if loaded.grant.refreshToken == nil, loaded.machine.health == .ok {
      if !account.identity.wasIssued { throw .identityLacks(.noIDToken, account.id) }
      throw .token(.misconfigured(TokenMachine.noRefreshToken), account.id)
    }
    _ = try await account.answer(to: .forced, for: .standard)
  }

  private func answer(_ serial: UInt64, at now: Timestamp, from account: isolated Account) -> IDTokenAnswer? {
    guard let token = account.identity[serial] else { return nil }
    return IDTokenAnswer(
      secret: token.secret, account: account.id, issuer: token.issuer, audiences: token.audiences,
      expiresAt: token.expiresAt,
      expiresInSeconds: max(0, (token.expiresAt - now).wholeSeconds))
  }

  /// A failed refresh spoils nothing that still works, but for a grant that was refused and an account that was disabled.
  func answer(after failure: AgentFailure, from account: isolated Account) -> IDTokenAnswer? {
    guard case .token(let refusal, _) = failure, refusal != .signedOut, let loaded = account.loaded,
      loaded.machine.servesTokens
    else { return nil }
    let now = account.dependencies.time.now(for: loaded.profile.provider)
    return account.identity.machine.live(at: now).flatMap { answer($0, at: now, from: account) }
  }
}
