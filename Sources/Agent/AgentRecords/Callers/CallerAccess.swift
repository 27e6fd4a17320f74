internal import AgentCore
package import AgentModel
internal import AgentPorts
internal import AgentStore

/// The permissions of a connection (docs/callers.md, Grants). Each request is checked before its handler runs, and each
/// answer is filtered.
///
/// - C2: the access of a connection only ever gets narrower, except by its first grant where every connection must
///   bring one. A refused connection stays refused until it closes.
package enum CallerAccess: Sendable {
  /// A program of the person's own, without a grant that limits it.
  case trusted
  case limited(EffectiveGrant)
  /// Only methods that disclose nothing: every connection must bring a grant, and this one has not yet.
  case unknown
  /// Only methods that disclose nothing, until the client presents its grant again: the vault was locked when it did.
  /// `within` is what limited it before.
  case unopened(within: EffectiveGrant?)
  /// Nothing at all. A restriction that failed never falls back to no restriction.
  case refused

  /// False for a connection that may do nothing at all, or not yet.
  package var isServed: Bool {
    switch self {
    case .trusted, .limited: true
    case .unknown, .unopened, .refused: false
    }
  }

  /// What the connection's grants cover; nil for a connection that presented none.
  package var limits: EffectiveGrant? {
    switch self {
    case .limited(let limits): limits
    case .unopened(let limits): limits
    case .trusted, .unknown, .refused: nil
    }
  }

  /// Whether the caller may know that there is this account.
  package func covers(_ account: AccountID) -> Bool {
    switch self {
    case .trusted: true
    case .limited(let limits): limits.permission.accounts.contains(account)
    case .unknown, .unopened, .refused: false
    }
  }

  /// Whether a token may be answered on the spot; if not, the ordinary way says why.
  package func coversToken(of account: AccountID, at now: BootInstant) -> Bool {
    guard case .limited(let limits) = self, limits.areOpen(at: now) else { return false }
    return limits.coversToken(of: account)
  }

  /// Whether a decision may be answered on the spot.
  package func coversCheck(of account: AccountID, at now: BootInstant) -> Bool {
    guard case .limited(let limits) = self, limits.areOpen(at: now) else { return false }
    return limits.covers(account) && limits.permission.scopes == nil
      && limits.permission.methods.contains("authorization.check")
  }
}
