package import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
package import AgentStore

/// The requests of callers for a token.
extension Account {
  func load() async throws(AgentFailure) { try await loader.load(self) }

  /// Returns a token from memory, or after the one exchange that all callers share. A caller with a `limit` gets no
  /// token with other scopes, or with rights in detail of another type.
  ///
  /// - Parameter patience: how long the caller waits for the provider; nil: to the end of the exchange.
  package func token(
    _ key: TokenKey, _ demand: TokenMachine.Demand, exactScopes: Bool = false, within limit: TokenLimit = .none,
    patience: Milliseconds? = nil
  ) async throws(AgentFailure) -> TokenAnswer {
    try await load()
    if loaded?.profile.kind == .secret {
      try requireStandard(key, within: limit)
      return try await answer(to: ofSecret(demand), for: .standard, patience: patience)
    }
    let key = try loaded?.resolved(key, exactScopes: exactScopes, within: limit.scopes) ?? key
    try requireDetails(within: limit)
    let answer = try await answer(to: demand, for: key, patience: patience)
    // The provider may have granted other rights than were asked for.
    try requireDetails(within: limit)
    guard let scopes = limit.scopes, !answer.token.scopes.isWithin(scopes) else { return answer }
    throw .wouldNarrow(id)
  }

  /// Every token of the account carries the rights in detail that its grant has (RFC 9396 §6).
  private func requireDetails(within limit: TokenLimit) throws(AgentFailure) {
    guard limit.covers(loaded?.grant.details) else { throw .wouldNarrow(id, .details) }
  }

  private func answer(
    to demand: TokenMachine.Demand, for key: TokenKey, patience: Milliseconds?
  ) async throws(AgentFailure) -> TokenAnswer {
    let answer = try await withDeadline(at: patience.map { clock.boot() + $0 }, clock: clock) {
      () async throws(AgentFailure) in try await self.answer(to: demand, for: key)
    }
    if let answer { return answer }
    try await load()
    let waiter = waiting.newID()
    let result = await withCheckedContinuation { continuation in
      waiting.add(waiter, key: key, continuation)
      perform(loaded?.machine.gaveUp(waiter, key: key, demand: demand, at: clock.boot()) ?? [])
      if loaded == nil { waiting.answer(waiter, .failure(.locked)) }
    }
    return try result.get()
  }

  func answer(
    to demand: TokenMachine.Demand, for key: TokenKey
  ) async throws(AgentFailure) -> TokenAnswer {
    // The account may have been signed out or locked since the caller's own `load`. Suspends only where it was.
    try await load()
    let waiter = waiting.newID()
    let result: Result<TokenAnswer, AgentFailure> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // A cancellation before this point found no entry in `waiting`, so look for it here.
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(AgentFailure.cancelled)) }
        noticeReachability()
        waiting.add(waiter, key: key, continuation)
        perform(loaded?.machine.wanted(by: waiter, key: key, demand: demand, at: clock.boot()) ?? [])
        if loaded == nil { waiting.answer(waiter, .failure(.locked)) }
        if let run = exchanges.machine.current, loaded?.machine.isWanted == true { dependencies.gate.want(run) }
        renewal.watch(self)
      }
    } onCancel: {
      // As a timer, which runs while the agent ends: a caller does not wait longer for that.
      dependencies.background.startTimer { await self.leave(waiter) }
    }
    return try result.get()
  }

  /// Replaces the token with this fingerprint, which a resource refused, for any audience that the caller may use.
  package func replacement(
    of fingerprint: String, within permission: Permission? = nil
  ) async throws(AgentFailure) -> TokenAnswer {
    try await load()
    var key = loaded?.machine.grant.audiences.key(ofFingerprint: fingerprint) ?? .standard
    if let permission {
      key = loaded?.machine.named(key) ?? key
      guard let covered = permission.token(key) else { throw .caller(.notCovered) }
      key = covered
    }
    return try await token(
      key, .replacing(fingerprint: fingerprint), within: permission?.tokenLimit ?? .none,
      patience: TokenMachine.callersPatience)
  }

  /// What a challenge that a caller tells of demands of the person (RFC 9470 §3). Nil where another token may serve: if
  /// the one with this fingerprint is replaced already. Nil too for an account without sign-ins.
  ///
  /// - Parameter fingerprint: of the token that the resource refused; nil: the current one.
  package func demand(
    in challenge: String, against fingerprint: String?
  ) async throws(AgentFailure) -> InteractionDemand? {
    guard let demand = InteractionDemand(told: challenge) else { return nil }
    try await load()
    guard let loaded, loaded.profile.kind.hasSignIn else { return nil }
    guard let fingerprint else { return demand }
    let isCurrent =
      loaded.machine.grant.audiences.hasCurrent(fingerprint: fingerprint)
      || rareParts.derived?.key(ofFingerprint: fingerprint) != nil
    return isCurrent ? demand : nil
  }

  private func leave(_ waiter: UInt64) {
    loaded?.machine.waiterLeft(waiter)
    waiting.answer(waiter, .failure(.cancelled))
  }

  /// Resumes every waiter with `error`; exchanges go on.
  func refuseWaiters(_ error: AgentFailure) {
    for waiter in waiting.ids {
      loaded?.machine.waiterLeft(waiter)
      waiting.answer(waiter, .failure(error))
    }
  }

  /// Records the store's error for the waiting callers.
  func noteStoreError(_ error: AgentFailure) { loaded?.storeError = error.attributed(to: id) }

  /// The provider that an exchange of this account may be sent to; nil if there is none now, which is noted.
  func exchangeReceiver() async -> Provider? {
    do throws(AgentFailure) {
      return try await dependencies.vault.receiver(ofTokensOf: id)
    } catch {
      // Its documents may have named another endpoint since, of which the account was not told.
      if case .token(.interaction, _) = error { await configurationChanged() }
      noteStoreError(error)
      return nil
    }
  }
}

extension Account.Loaded {
  /// The key of the token that answers a request. It is the standard one for all the granted scopes, however they are
  /// spelled out, and for the only resource of the provider, which each token is for; a token with fewer scopes is
  /// exchanged only where the grant keeps its scopes.
  fileprivate func resolved(
    _ key: TokenKey, exactScopes: Bool, within limit: Set<String>?
  ) throws(AgentFailure) -> TokenKey {
    let key = machine.kept(key)
    let (granted, isNarrowed, narrowing) = (grant.scopes, grant.isNarrowed, machine.narrowing)
    let request: ScopeRequest?
    if let limit {
      request = .of(key.scopes, within: limit, granted: granted, isNarrowed: isNarrowed, at: narrowing)
    } else if let scopes = key.scopes {
      request = .of(scopes, granted: granted, isNarrowed: isNarrowed, exactly: exactScopes, at: narrowing)
    } else {
      return key
    }
    switch request {
    case nil: throw .caller(.notCovered)
    case .standard: return TokenKey(resource: key.resource)
    case .own(let scopes): return TokenKey(resource: key.resource, scopes: scopes)
    case .wouldNarrow: throw .wouldNarrow(profile.id)
    }
  }
}
