internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
package import AgentStore

/// The session as a user interface shows it.
extension Account {
  /// An exchange failed now.
  func note(_ failure: ExchangeFailure) {
    guard let provider = loaded?.profile.provider else { return }
    let moment = dependencies.time.now(for: provider)
    loaded?.lastFailure = LastFailure(kind: failure.kind, at: moment, reason: failure.reason)
  }

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
    let time = dependencies.time.reading(for: provider, since: loaded.profile.lastOnlineAuthAt)
    let moment = { (boot: BootInstant) in time.now + (boot - now) }
    return SessionFacts(
      profile: loaded.profile, time: time, state: state,
      since: loaded.stateSince, remedies: machine.remedies(for: state),
      freshness: machine.freshness(at: now),
      accessTokenExpiresAt: machine.standardToken.map { loaded.profile.givenEnd ?? moment($0.expiresAt) },
      refreshTokenExpiresAt: loaded.profile.kind == .openid ? loaded.grant.refreshTokenExpiresAt : nil,
      lastOnlineAuthAt: loaded.profile.lastOnlineAuthAt?.time,
      offlineGraceUntil: dependencies.offlineGraceUntil(of: loaded.profile, in: state), scopes: loaded.grant.scopes,
      lostScopes: loaded.grant.lostScopes, details: loaded.grant.details,
      roles: loaded.rights?.snapshot.roles.sorted() ?? [], phase: machine.phase(at: now), attempts: machine.failures,
      nextAttemptAt: machine.nextAttempt(at: now).map(moment),
      lastError: loaded.lastFailure, generation: loaded.grant.generation,
      deviceKeyID: loaded.grant.deviceKey?.thumbprint, tokenBinding: loaded.grant.tokenBinding)
  }
}
