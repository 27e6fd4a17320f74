public import AgentModel

/// Changes of the grant from outside.
extension TokenMachine {
  /// An access token that is known without an exchange: from a sign-in, or kept from before a restart.
  public mutating func adopt(_ token: TokenFacts, for key: TokenKey) -> [Effect] {
    audiences[key].token = token
    audiences.forget(\.interaction)
    audiences.forget(\.rejectedRequest)
    forgetFailures()
    return setHealth(.ok)
  }

  /// Restores an access token from before a restart, which says nothing of the grant's health.
  public mutating func restore(_ token: TokenFacts, for key: TokenKey) { audiences[key].token = token }

  /// The person signed out: nothing is answered from memory any more, and every waiter is told.
  public mutating func signedOut() -> [Effect] {
    exchange = nil
    audiences = Audiences()
    forgetFailures()
    return setHealth(.signedOut) + takeWaiters().map { .refuse($0.id, .signedOut) }
  }

  /// The provider was configured anew: a refusal of the old configuration stands no longer.
  public mutating func reconfigured(
    rule: ProviderConfiguration.RefreshRule, isIssuedElsewhere: Bool = false
  ) -> [Effect] {
    self.rule = rule
    let toldChange: [Effect] = self.isIssuedElsewhere == isIssuedElsewhere ? [] : [.stateChanged]
    self.isIssuedElsewhere = isIssuedElsewhere
    audiences.forget(\.rejectedRequest)
    switch health {
    case .misconfigured: return setHealth(.ok)
    case .unknown where rule.reuse == .none: return setHealth(.ok)
    default: return toldChange
    }
  }

  /// The provider may be reachable again: the pause no longer holds the next caller back. The account counts as offline
  /// until the next request to the provider.
  public mutating func reconnected() { if isOffline { patience?.until = BootInstant(milliseconds: 0) } }
}
