internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore

/// Loading the grant from the vault, and the recovery from an end of the agent during an exchange.
///
/// A part of `Account`, to which all its functions are isolated.
final class GrantLoader {
  /// Counts replacements of the grant from outside, so that a slow load is detected as outdated.
  private var replacements = 0

  /// The grant was replaced from outside: what is being read is outdated.
  func outdate() { replacements += 1 }

  /// Loads the account, unless it is loaded.
  func load(_ account: isolated Account) async throws(AgentFailure) {
    let clock = account.clock
    while account.loaded == nil {
      let asked = replacements
      let (profile, found, rule) = try await account.journal.open()
      guard account.loaded == nil else { return }
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
        memory: memory, rule: rule, isIssuedElsewhere: profile.isIssuedElsewhere, toldState: profile.restingState,
        at: now)
      var identity = found?.idToken.flatMap { IDTokenIdentity($0, sharingTextsOf: profile) }
      if let authTime = grant.authTime { identity?.authTime = authTime }
      account.loaded = Account.Loaded(
        profile: profile, machine: machine, grant: grant, stateSince: profile.stateSince,
        lastFailure: signedOut
          ? nil
          : grant.memory.lastFailure(
            wall: clock.wall(), providerTime: account.dependencies.time.now(for: profile.provider)),
        idTokenIdentity: identity, rights: found?.rights)
      account.loaded?.forgetRefreshTokenIfDisabled()
      account.exchanges.machine.loaded(epoch: profile.epoch)
      if let found, !signedOut {
        restore(found.tokens, of: account)
        account.tokens.retakeSecret(of: account)
        recover(found, of: account)
      }
      // What the journal had is known now.
      account.perform([])
      account.renewal.watch(account)
      if let found, !signedOut {
        await correct(found.journal, of: account, doubtWasKnown: grant.memory.health == .unknown)
      }
    }
  }

  /// Restores the access tokens that were stored before the restart, also those of a grant with an unknown outcome: they
  /// work until they expire.
  private func restore(_ kept: AccessTokens?, of account: isolated Account) {
    guard let loaded = account.loaded, loaded.machine.servesTokens else { return }
    let provider = loaded.profile.provider
    let key = account.loaded?.grant.deviceKey
    for token in kept?.all ?? [] {
      guard let issued = account.tokens.take(token, boundTo: key, from: provider, of: account) else { continue }
      account.loaded?.machine.restore(issued.facts, for: token.key)
    }
    account.tokens.publish(of: account)
  }

  /// Recovers from an end of the agent during an exchange: continues with a staged answer; a request that may have left
  /// without an answer has an unknown outcome.
  private func recover(_ found: LoadedGrant, of account: isolated Account) {
    let (clock, exchanges) = (account.clock, account.exchanges)
    if let staged = found.staged, let profile = account.loaded?.profile {
      exchanges.answers[staged.intent] = ReceivedAnswer(body: staged.body, origin: TokenOrigin(profile, nil))
    }
    exchanges.perform(
      exchanges.machine.recover(
        found.journal, generation: found.grant.generation, bootID: clock.bootID, at: clock.boot()), of: account)
  }

  /// Stores an unknown outcome that was found at the start, so that the person is asked once, and not at each start; and
  /// that a request never left, which the next boot would not know.
  private func correct(
    _ found: ExchangeMachine.JournalEntry, of account: isolated Account, doubtWasKnown: Bool
  ) async {
    guard let loaded = account.loaded,
      let correction = account.exchanges.machine.correction(
        of: found, bootID: account.clock.bootID, isInDoubt: loaded.machine.health == .unknown, wasKnown: doubtWasKnown)
    else { return }
    let failed = FailedExchange(loaded.machine, on: account.clock)
    let stored = try? await account.journal.correct(
      correction.of, end: correction.end, generation: loaded.grant.generation, failed)
    account.isStored(stored ?? nil)
  }
}
