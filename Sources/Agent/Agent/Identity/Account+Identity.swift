internal import AgentCore
package import AgentModel
internal import AgentPorts

/// The requests of callers for an ID token.
extension Account {
  /// Returns the ID token from memory, or after the one exchange that all callers share.
  package func idToken(minimumLifetime: Milliseconds) async throws(AgentFailure) -> IDTokenAnswer {
    var hasRefreshed = false
    while true {
      try await load()
      if loaded?.machine.health == .signedOut { throw .token(.signedOut, id) }
      try await AccountIdentity.open(of: self)
      guard let loaded else { throw .locked }
      let now = dependencies.time.now(for: loaded.profile.provider)
      // A disabled account is given no ID token, as it is given no access token.
      let step =
        loaded.machine.health == .locked && !hasRefreshed
        ? .refresh : identity.machine.step(minimum: minimumLifetime, isLast: hasRefreshed, at: now)
      switch step {
      case .answer(let serial):
        guard let answer = answer(serial, at: now) else { throw .locked }
        return answer
      case .verify:
        do throws(AgentFailure) {
          try await AccountIdentity.check(of: self)
        } catch {
          guard let answer = answer(after: error) else { throw error }
          return answer
        }
      case .refresh:
        do throws(AgentFailure) {
          try await refreshForIDToken()
          hasRefreshed = true
        } catch {
          guard let answer = answer(after: error) else { throw error }
          return answer
        }
      case .refuse(let lack): throw .identityLacks(lack, id)
      }
    }
  }

  /// Joins the exchange in flight, or begins one.
  private func refreshForIDToken() async throws(AgentFailure) {
    guard let loaded else { throw .locked }
    // Without the scope a refresh brings none (OpenID Connect Core §3.1.2.1), but some providers don't name it.
    if !identity.wasIssued, !loaded.grant.scopes.names.contains("openid") { throw .identityLacks(.noIDToken, id) }
    // An attempt would end the session of an access token that still lives.
    if loaded.grant.refreshToken == nil, loaded.machine.health == .ok {
      if !identity.wasIssued { throw .identityLacks(.noIDToken, id) }
      throw .token(.reauthenticate(reason: "noRefreshToken"), id)
    }
    _ = try await answer(to: .forced, for: .standard)
  }

  private func answer(_ serial: UInt64, at now: Timestamp) -> IDTokenAnswer? {
    guard let token = identity[serial], let provider = loaded?.profile.provider else { return nil }
    return IDTokenAnswer(
      secret: token.secret, account: id, issuer: token.issuer, audiences: token.audiences,
      expiresAt: dependencies.time.wall(token.expiresAt, of: provider),
      expiresInSeconds: max(0, (token.expiresAt - now).wholeSeconds))
  }

  /// A failed refresh spoils nothing that still works, but for an account that ended or was disabled.
  private func answer(after failure: AgentFailure) -> IDTokenAnswer? {
    guard case .token(let refusal, _) = failure, refusal != .signedOut, refusal != .locked, let loaded,
      loaded.machine.health != .locked, loaded.machine.health != .signedOut
    else { return nil }
    let now = dependencies.time.now(for: loaded.profile.provider)
    return identity.machine.live(at: now).flatMap { answer($0, at: now) }
  }
}
