internal import AgentCore
package import AgentModel
internal import AgentPorts

/// What a connection may do now (docs/callers.md, Grants). Every request goes by here before its handler runs, and its
/// answer goes by here again.
///
/// - C2: a connection's standing only ever gets narrower, but for the first grant where everybody must bring one. What
///   was refused stays refused until it closes.
package enum CallerAccess: Sendable {
  /// A program of the person's own that nobody limited.
  case trusted
  case limited(EffectiveGrant)
  /// Nothing but what gives nothing out: everybody must bring a grant, and this one has not yet.
  case unknown
  /// Nothing at all. A restriction that failed never falls back to no restriction.
  case refused

  /// False for who may do nothing at all, or not yet.
  package var isServed: Bool {
    switch self {
    case .trusted, .limited: true
    case .unknown, .refused: false
    }
  }

  /// Whether the caller may know that there is this account.
  package func covers(_ account: AccountID) -> Bool {
    switch self {
    case .trusted: true
    case .limited(let limits): limits.permission.accounts.contains(account)
    case .unknown, .refused: false
    }
  }

  /// Whether a token may be answered on the spot; if not, the ordinary way says why.
  package func coversToken(of account: AccountID, at now: BootInstant) -> Bool {
    guard case .limited(let limits) = self, limits.areOpen(at: now) else { return false }
    return limits.coversToken(of: account)
  }
}

extension EffectiveGrant {
  /// The covered account that a selector means. One that is not covered and one that is not there are the same.
  package func account(_ selector: AccountSelector, _ tokenCache: TokenCache) throws(AgentFailure) -> AccountID {
    if case .id(let id) = selector {
      guard permission.accounts.contains(id) else { throw .caller(.notCovered) }
      return id
    }
    // Names are sealed now, so that nobody can say whose this one is.
    guard tokenCache.isOpen else { throw .locked }
    let meant = tokenCache.accounts(selector: selector).filter(permission.accounts.contains)
    guard let account = meant.first else { throw .caller(.notCovered) }
    guard meant.count == 1 else { throw .accountAmbiguous(meant.sorted()) }
    return account
  }
}
