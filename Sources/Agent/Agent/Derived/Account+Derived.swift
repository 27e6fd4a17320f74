package import AgentCore
package import AgentModel
internal import AgentPorts

/// The requests of callers for a token of another audience (RFC 8693).
extension Account {
  /// Returns an exchanged token from memory, or after the one exchange that all callers for `wish` share. A caller with
  /// a permission gets no token beyond it.
  package func derivedToken(
    _ wish: DerivedTokenKey, within permission: Permission? = nil
  ) async throws(AgentFailure) -> DerivedTokenAnswer {
    try await load()
    guard let loaded else { throw .locked }
    if loaded.machine.health == .signedOut { throw .token(.signedOut, id) }
    var key = wish
    if let permission {
      guard let covered = permission.derived(wish, granted: loaded.grant.scopes) else { throw .caller(.notCovered) }
      key = covered
    }
    let answer = try await derivedAnswer(key, isDisabled: loaded.machine.health == .locked)
    if let permission, !permission.covers(scopes: answer.token.scopes, type: answer.token.issuedTokenType) {
      throw .wouldNarrow(id)
    }
    return answer
  }

  /// A disabled account is given none from memory, as it is given no access token.
  private func derivedAnswer(
    _ key: DerivedTokenKey, isDisabled: Bool
  ) async throws(AgentFailure) -> DerivedTokenAnswer {
    noticeReachability()
    switch isDisabled ? .ask : derived.wanted(key, at: clock.boot()) {
    case .answer(let serial): return try answer(serial, .cache)
    case .refuse(_, _, let stale?): return try answer(stale, .staleOk)
    case .refuse(let failure, let pause, nil): throw .exchange(failure, retryAfter: pause, id)
    case .ask: break
    }
    do throws(AgentFailure) {
      return try answer(try await AccountDerivedTokens.ask(key, of: self), .refreshed)
    } catch {
      // A failure spoils nothing that still works.
      guard error.mayPass, loaded?.machine.health != .locked, let stale = derived.live(key, at: clock.boot()) else {
        throw error
      }
      if case .cancelled = error { throw error }
      return try answer(stale, .staleOk)
    }
  }

  /// Replaces the exchanged token with this fingerprint, which a resource refused. Nil if it is none, or none that the
  /// caller may have.
  package func replacementOfDerived(
    _ fingerprint: String, within permission: Permission? = nil
  ) async throws(AgentFailure) -> DerivedTokenAnswer? {
    try await load()
    guard let key = derived.key(ofFingerprint: fingerprint), let granted = loaded?.grant.scopes,
      permission.map({ $0.derived(key, granted: granted) == key }) ?? true,
      let isLoop = derived.reject(key, at: clock.boot())
    else { return nil }
    if isLoop { throw .token(.interaction(claims: nil), id) }
    return try await derivedToken(key, within: permission)
  }

  /// The live exchanged token with this fingerprint; nil if there is none.
  func derived(_ fingerprint: String, within permission: Permission?) throws(AgentFailure) -> DerivedToken? {
    guard let key = derived.key(ofFingerprint: fingerprint), let serial = derived.live(key, at: clock.boot()),
      let token = derived[serial], token.facts.fingerprint == fingerprint, let granted = loaded?.grant.scopes
    else { return nil }
    if let permission {
      guard permission.derived(key, granted: granted) == key,
        permission.covers(scopes: token.scopes, type: token.issuedTokenType)
      else { throw .caller(.notCovered) }
    }
    return token
  }

  private func answer(
    _ serial: UInt64, _ source: TokenMachine.Source
  ) throws(AgentFailure) -> DerivedTokenAnswer {
    guard let token = derived[serial], let issuer = loaded?.profile.identity.issuer else {
      throw .token(.signedOut, id)
    }
    let left = token.facts.expiresAt - clock.boot()
    return DerivedTokenAnswer(
      token: token, account: id, issuer: issuer, source: source, expiresAt: clock.wall() + left,
      expiresInSeconds: max(0, left.wholeSeconds))
  }
}
