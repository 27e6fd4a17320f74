internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol

/// What a caller sees of the agent's accounts: all of them, or those that its grant covers. For methods that answer with
/// more than one account, or are told of one by another name than `account`.
extension Call {
  var now: BootInstant { agent.environment.clock.boot() }

  func requireOpen() throws(RPCError) {
    guard case .limited(let limits) = standing, !limits.areOpen(at: now) else { return }
    throw .grantRefused
  }

  func sees(_ account: AccountID) -> Bool { standing.covers(account) }

  func sees(_ profile: AccountProfile) -> Bool { standing.covers(profile.id) }

  /// What limits the caller; nil if nothing does.
  var limits: GrantLimits? { if case .limited(let limits) = standing { limits } else { nil } }

  /// A selector as the caller means it: among the accounts that it sees.
  func pinned(_ selector: AccountSelector) throws(RPCError) -> AccountSelector {
    guard let limits else { return selector }
    return .id(try limits.account(selector, agent.board))
  }
}
