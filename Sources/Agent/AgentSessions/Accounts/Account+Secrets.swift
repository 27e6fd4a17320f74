internal import AgentCore
package import AgentModel
internal import AgentPorts
internal import AgentRecords
package import AgentStore

/// What callers ask of an account that holds a secret (docs/secrets.md).
extension Account {
  /// A secret is one and the same for all scopes and resources: no provider makes another of it.
  func requireStandard(_ key: TokenKey, within limit: TokenLimit) throws(AgentFailure) {
    // A caller that may have some scopes only has no part in it.
    guard limit.scopes == nil, limit.covers(nil) else { throw .caller(.notCovered) }
    guard key.resource == nil, key.scopes?.isEmpty ?? true else {
      throw .token(.misconfigured(TokenMachine.notSupported), id)
    }
  }

  /// What a caller's demand is for a secret, which lives as long as it lives.
  func ofSecret(_ demand: TokenMachine.Demand) -> TokenMachine.Demand {
    guard case .usable = demand else { return demand }
    // The end that is told of a secret without one moves on.
    if let token = loaded?.machine.standardToken, loaded?.machine.secretEnd == nil, clock.boot() >= token.refreshAt {
      tokens.retakeSecret(of: self)
    }
    return .usable(minimumLifetime: .zero)
  }

  /// Throws if the account holds a secret that ends before this time has passed: no refresh makes it live longer.
  package func requireSecretLives(for minimum: Milliseconds) async throws(AgentFailure) {
    try await load()
    let now = clock.boot()
    guard let end = loaded?.machine.secretEnd, now < end, now + minimum > end else { return }
    throw .token(.misconfigured(TokenMachine.notSupported), id)
  }

  /// Throws if the account has no grant of OAuth, from which a token of another kind could come.
  func requireGrant() throws(AgentFailure) {
    guard loaded?.profile.kind == .secret else { return }
    if loaded?.machine.health == .signedOut { throw .token(.signedOut, id) }
    throw .token(.misconfigured(TokenMachine.notSupported), id)
  }

  /// Throws if no ID token can come: the account holds a secret, or is a machine's.
  func requirePerson() throws(AgentFailure) {
    try requireGrant()
    guard loaded?.profile.kind == .client, loaded?.machine.health != .signedOut else { return }
    throw .identityOfMachine(id)
  }
}
