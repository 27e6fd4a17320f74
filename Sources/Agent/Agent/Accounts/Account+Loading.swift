internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts

/// Loading the grant from the vault, and the recovery from an end of the agent during an exchange.
extension Account {
  package func load() async throws(AgentFailure) {
    while loaded == nil {
      let asked = replacements
      let (profile, found, rule) = try await journal.open()
      guard loaded == nil else { return }
      guard asked == replacements else { continue }  // a sign-in or sign-out came first: what was read is old
      let grant =
        found?.grant
        ?? GrantRecord(
          refreshToken: nil, generation: 0, memory: GrantMemory(health: .signedOut), scopes: ScopeSet([]),
          refreshTokenExpiresAt: nil)
      let signedOut = profile.signInStatus != .signedIn
      let now = clock.boot()
      var memory = grant.memory.memory(boot: now, wall: clock.wall())
      // The configuration may have been corrected since: one request shows it.
      if case .misconfigured = memory.health { memory.health = .ok }
      if signedOut { memory = TokenMemory(health: .signedOut) }
      let machine = TokenMachine(
        memory: memory, rule: rule, isIssuedElsewhere: profile.isIssuedElsewhere, at: now)
      let state = machine.state(at: now)
      loaded = Loaded(
        profile: profile, machine: machine, grant: grant, toldState: state,
        stateSince: state == profile.restingState ? profile.stateSince : dependencies.time.now(for: profile.provider),
        lastFailure: signedOut ? nil : grant.memory.lastFailure,
        idTokenIdentity: found?.idToken.flatMap(IDTokenIdentity.read), rights: found?.rights)
      exchanges.machine.loaded(epoch: profile.epoch)
      dependencies.tokenCache.setState(state, of: id)
      if let found, !signedOut {
        restore(found.tokens)
        recover(found)
        await correct(found.journal, doubtWasKnown: grant.memory.health == .unknown)
      }
    }
  }

  /// Restores the access tokens that were stored before the restart, also those of a refused grant or one with an
  /// unknown outcome: they work until they expire.
  private func restore(_ kept: AccessTokens?) {
    for token in kept?.all ?? [] {
      if let issued = take(token) { loaded?.machine.restore(issued.facts, for: token.key) }
    }
    publish()
  }

  /// Recovers from an end of the agent during an exchange: continues with a staged answer; a request that may have left
  /// without an answer has an unknown outcome.
  private func recover(_ found: LoadedGrant) {
    if let staged = found.staged, let profile = loaded?.profile {
      exchanges.answers[staged.intent.nonce] = ReceivedAnswer(body: staged.body, origin: TokenOrigin(profile, nil))
    }
    exchanges.perform(
      exchanges.machine.recover(
        found.journal, generation: found.grant.generation, bootID: clock.bootID, at: clock.boot()), of: self)
  }

  /// Stores an unknown outcome that was found at the start, so that the person is asked once, and not at each start; and
  /// that a request never left, which the next boot would not know.
  private func correct(_ found: ExchangeMachine.JournalEntry, doubtWasKnown: Bool) async {
    guard let loaded,
      let correction = exchanges.machine.correction(
        of: found, bootID: clock.bootID, isInDoubt: loaded.machine.health == .unknown, wasKnown: doubtWasKnown)
    else { return }
    try? await journal.correct(correction.of, end: correction.end, grant: loaded.grant)
  }
}
