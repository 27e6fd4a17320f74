package import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
package import AgentStore

/// The requests of callers for the credentials of a role.
extension Account {
  /// Returns credentials from memory, or after the one exchange that all callers for this role share.
  package func credentials(of role: RoleSession) async throws(AgentFailure) -> RoleAnswer {
    try await load()
    try requirePerson()
    if loaded?.machine.health == .signedOut { throw .token(.signedOut, id) }
    // Where no access token is served, no role's credentials are: a look at the provider comes first.
    if loaded?.machine.servesTokens == false {
      _ = try await answer(to: .usable(minimumLifetime: .zero), for: .standard)
    }
    try await AccountRoles.open(of: self)
    noticeReachability()
    try requireTokensServed()
    switch roles.wanted(role, at: clock.boot()) {
    case .answer(let serial): return try answer(serial)
    case .refuse(_, _, let stale?): return try answer(stale)
    case .refuse(let failure, let pause, nil): throw .role(failure, retryAfter: pause, id)
    case .ask: break
    }
    do throws(AgentFailure) {
      return try answer(try await AccountRoles.ask(role, of: self))
    } catch {
      // A failure spoils nothing that still works.
      guard error.mayPass, loaded?.machine.servesTokens == true, let stale = roles.live(role, at: clock.boot()) else {
        throw error
      }
      if case .cancelled = error { throw error }
      return try answer(stale)
    }
  }

  private func answer(_ serial: UInt64) throws(AgentFailure) -> RoleAnswer {
    guard let (kept, end) = roles[serial], let loaded else { throw .token(.signedOut, id) }
    return RoleAnswer(
      accessKeyID: kept.accessKeyID, secretAccessKey: kept.secretAccessKey, sessionToken: kept.sessionToken,
      account: id, expiresAt: dependencies.time.moment(end, of: loaded.profile.provider),
      expiresInSeconds: max(0, (end - clock.boot()).wholeSeconds))
  }
}
