package import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentRecords
package import AgentStore

/// The requests of callers for a token of another audience (RFC 8693).
extension Account {
  /// Returns an exchanged token from memory, or after the one exchange that all callers for `wish` share. A caller with
  /// a permission gets no token beyond it.
  package func derivedToken(
    _ wish: DerivedTokenKey, within permission: Permission? = nil
  ) async throws(AgentFailure) -> DerivedTokenAnswer {
    try await load()
    try requireGrant()
    guard let loaded else { throw .locked }
    if loaded.machine.health == .signedOut { throw .token(.signedOut, id) }
    var key = wish
    if let permission {
      guard let covered = permission.derived(wish, granted: loaded.grant.scopes) else { throw .caller(.notCovered) }
      key = covered
    }
    let answer = try await DerivedTokenRequest(key: key, isWithheld: !loaded.machine.servesTokens).answer(
      from: self)
    let token = answer.token
    if let permission, !permission.covers(scopes: token.scopes, details: token.details, type: token.issuedTokenType) {
      throw .wouldNarrow(id)
    }
    return answer
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
}
