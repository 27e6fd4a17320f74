internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol

/// What a connection may do now (docs/callers.md, Grants). Every request goes by here before its handler runs, and its
/// answer goes by here again.
///
/// - C2: a connection's standing only ever gets narrower, but for the first grant where everybody must bring one. What
///   was refused stays refused until it closes.
enum CallerAccess: Sendable {
  /// A program of the person's own that nobody limited.
  case trusted
  case limited(EffectiveGrant)
  /// Nothing but what gives nothing out: everybody must bring a grant, and this one has not yet.
  case unknown
  /// Nothing at all. A restriction that failed never falls back to no restriction.
  case refused

  /// Lets a request in; the account that it is about is nil for methods that name none, and for callers that nothing
  /// limits. What is judged here is what is served: the handler gets the id, and not the word that led to it.
  func admit(
    _ method: MethodInfo, _ selector: AccountSelector?, _ agent: AgentService
  ) throws(AgentFailure) -> AccountID? {
    switch self {
    case .trusted: return nil
    case .refused: throw .caller(.grantRefused)
    case .unknown:
      guard method.underGrant == .always else { throw .caller(.grantNeeded) }
      return nil
    case .limited(let limits):
      guard limits.areOpen(at: agent.environment.clock.boot()) else { throw .caller(.grantRefused) }
      guard method.underGrant == .always || limits.permission.methods.contains(method.name) else {
        throw .caller(.notCovered)
      }
      return try selector.map { (selector) throws(AgentFailure) in try limits.account(selector, agent.tokenCache) }
    }
  }

  /// False for who may do nothing at all, or not yet.
  var isServed: Bool {
    switch self {
    case .trusted, .limited: true
    case .unknown, .refused: false
    }
  }

  /// Whether the caller may know that there is this account.
  func covers(_ account: AccountID) -> Bool {
    switch self {
    case .trusted: true
    case .limited(let limits): limits.permission.accounts.contains(account)
    case .unknown, .refused: false
    }
  }

  /// Whether a token may be answered on the spot; if not, the ordinary way says why.
  func coversToken(of account: AccountID, at now: BootInstant) -> Bool {
    guard case .limited(let limits) = self, limits.areOpen(at: now) else { return false }
    return limits.coversToken(of: account)
  }

  /// What the caller is told of a failure: nothing of an account that is not its own, not even that there is one.
  func told(_ error: RPCError, at now: BootInstant) -> RPCError {
    guard case .limited(let limits) = self else { return error }
    let notCovered = RPCError(AgentFailure.caller(.notCovered))
    guard limits.areOpen(at: now) else { return RPCError(AgentFailure.caller(.grantRefused)) }
    if error.code == .accountNotFound { return notCovered }
    if let account = error.account, !covers(account) { return notCovered }
    var told = error
    told.details = error.details.compactMap { name, value in
      guard case .texts(let texts) = value else { return (name, value) }
      let known = texts.filter { AccountID($0).map(covers) ?? true }
      return known.isEmpty && !texts.isEmpty ? nil : (name, .texts(known))
    }
    return error.code == .accountAmbiguous && told.details.isEmpty ? notCovered : told
  }
}

extension EffectiveGrant {
  /// The covered account that a selector means. One that is not covered and one that is not there are the same.
  func account(_ selector: AccountSelector, _ tokenCache: TokenCache) throws(AgentFailure) -> AccountID {
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
