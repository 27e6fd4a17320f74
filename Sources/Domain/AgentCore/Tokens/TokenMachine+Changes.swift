public import AgentModel

/// Changes of the grant from outside.
extension TokenMachine {
  /// An access token that is known without an exchange: from a sign-in, or kept from before a restart.
  public mutating func adopt(_ token: TokenFacts, for key: TokenKey) -> [Effect] {
    grant.audiences[key].token = token
    grant.audiences.forget(\.interaction)
    grant.audiences.forget(\.rejectedRequest)
    grant.forgetFailures()
    return grant.set(.ok)
  }

  /// Restores an access token from before a restart, which says nothing of the grant's health.
  public mutating func restore(_ token: TokenFacts, for key: TokenKey) {
    if servesTokens { grant.audiences[key].token = token }
  }

  /// The person signed out: nothing is answered from memory any more, and every waiter is told.
  public mutating func signedOut() -> [Effect] {
    exchange = nil
    grant.audiences = Audiences()
    grant.forgetFailures()
    return grant.set(.signedOut) + waiters.take().map { .refuse($0.id, .signedOut) }
  }

  /// The provider was configured anew: a refusal of the old configuration stands no longer.
  public mutating func reconfigured(
    rule: ProviderConfiguration.RefreshRule, isIssuedElsewhere: Bool = false
  ) -> [Effect] {
    grant.replay.rule = rule
    grant.isIssuedElsewhere = isIssuedElsewhere
    grant.audiences.forget(\.rejectedRequest)
    forgetQuestion()
    switch health {
    case .misconfigured: return grant.set(.ok)
    case .unknown where !grant.replay.lostAnswersCount: return grant.set(.ok)
    default: return []
    }
  }

  /// The provider may be reachable again: a pause after a failure that may come from the network ends. The account counts
  /// as offline until the next request to the provider.
  public mutating func reconnected() {
    guard lastFailure?.mayComeFromTheNetwork == true else { return }
    guard holdsSecret else { return grant.pause.end() }
    // No request follows by itself for a secret, which works as before.
    grant.pause.forget()
    forgetQuestion()
  }
}
