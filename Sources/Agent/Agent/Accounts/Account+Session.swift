internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
package import AgentStore

/// The session as a user interface shows it.
extension Account {
  /// The account's state as a user interface shows it.
  package func session() async throws(AgentFailure) -> SessionFacts {
    try await settle()
    guard let loaded else { throw .locked }
    return sessionFacts(of: loaded)
  }

  @inline(never)
  private func sessionFacts(of loaded: Loaded) -> SessionFacts {
    let now = clock.boot()
    let (machine, provider) = (loaded.machine, loaded.profile.provider)
    let state = machine.toldState
    return SessionFacts(
      profile: loaded.profile, time: dependencies.time.reading(for: provider), state: state,
      since: loaded.stateSince.map { dependencies.time.wall($0, of: provider) }, remedies: machine.remedies(for: state),
      freshness: machine.freshness(at: now),
      accessTokenExpiresAt: machine.standardToken.map { clock.wall() + ($0.expiresAt - now) },
      refreshTokenExpiresAt: loaded.grant.refreshTokenExpiresAt.map { dependencies.time.wall($0, of: provider) },
      lastOnlineAuthAt: loaded.profile.lastOnlineAuthAt.map { dependencies.time.wall($0.time, of: provider) },
      offlineGraceUntil: dependencies.offlineGraceUntil(of: loaded.profile, in: state), scopes: loaded.grant.scopes,
      lostScopes: loaded.grant.lostScopes, details: loaded.grant.details,
      roles: loaded.rights?.snapshot.roles.sorted() ?? [], phase: machine.phase(at: now), attempts: machine.failures,
      nextAttemptAt: machine.nextAttemptAt.flatMap { $0 > now ? clock.wall() + ($0 - now) : nil },
      lastError: loaded.lastFailure, generation: loaded.grant.generation,
      deviceKeyID: loaded.grant.deviceKey?.thumbprint, tokenBinding: loaded.grant.tokenBinding)
  }
}
