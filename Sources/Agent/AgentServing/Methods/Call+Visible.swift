internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

/// The accounts that a caller sees: all of them, or those that its grant covers. For methods that answer with more than
/// one account, or take one under another name than `account`.
extension Call {
  var now: BootInstant { agent.environment.clock.boot() }

  func requireOpen() throws(AgentFailure) {
    guard case .limited(let limits) = access, !limits.areOpen(at: now) else { return }
    throw .caller(.grantRefused)
  }

  func sees(_ account: AccountID) -> Bool { access.covers(account) }

  func sees(_ profile: AccountProfile) -> Bool { access.covers(profile.id) }

  /// The grant that limits the caller; nil if no grant does.
  var limits: EffectiveGrant? { if case .limited(let limits) = access { limits } else { nil } }

  /// The only scopes that count for the caller; nil for all.
  var scopeLimit: Set<String>? { limits?.permission.scopes }

  /// What the caller's tokens may have.
  var tokenLimit: TokenLimit { limits?.permission.tokenLimit ?? .none }

  /// The token that the caller may ask for.
  func covered(_ key: TokenKey) throws(AgentFailure) -> TokenKey {
    guard let limits else { return key }
    guard let key = limits.permission.token(key) else { throw .caller(.notCovered) }
    return key
  }

  /// Throws if the caller may not have requests sent to this origin, by `request.send` or in an operation. A URL that is
  /// none is left to those that read it. About the method decides `RequestJudge`.
  func requireCovers(originOf url: String) throws(AgentFailure) {
    guard let limits, let origin = HTTPURL(url)?.origin else { return }
    guard limits.permission.covers(origin: origin) else { throw .caller(.notCovered) }
  }

  /// Decides about the requests of the caller.
  var judge: RequestJudge { RequestJudge(agent.decisions, for: agent.callerGrants.requestLimits(of: limits).caller) }

  /// A provider that the caller may change: no account uses it that its grant does not cover.
  func changeable(_ name: ProviderName) async throws(AgentFailure) -> Provider {
    try await agent.vault.read { [limits] vault throws(AgentFailure) in
      try vault.providers.requireCovered(name, by: limits)
      return try vault.providers.provider(named: name.text)
    }
  }

  /// A selector as the caller means it: among the accounts that it sees.
  func pinned(_ selector: AccountSelector) throws(AgentFailure) -> AccountSelector {
    guard let limits else { return selector }
    return .id(try limits.account(selector, agent.tokenCache))
  }
}
