package import AgentCore
package import AgentModel
package import AgentStore
internal import Synchronization

/// The last demand for the person of each account (error 2005), so that the next sign-in of the account asks for what was
/// demanded. Nothing of it is stored: after a restart the server demands it again.
package final class LastDemands: Sendable {
  /// Far more than a person answers; an item has 64 KiB at most.
  private static let most = 64

  private let demands = Mutex<[AccountID: InteractionDemand]>([:])

  package func last(of account: AccountID) -> InteractionDemand? { demands.withLock { $0[account] } }

  package func note(_ demand: InteractionDemand, of account: AccountID) {
    demands.withLock { demands in
      if demands[account] == nil, demands.count >= Self.most { demands = [:] }
      demands[account] = demand
    }
  }

  /// Notes the demand of a refused exchange. One that says nothing leaves an earlier one.
  package func note(_ failure: AgentFailure) {
    switch failure {
    case .token(.interaction(let claims?), let account):
      if last(of: account)?.claims != claims { note(InteractionDemand(claims: claims), of: account) }
    case .unsent(let failure), .sentBefore(let failure, _): note(failure)
    default: break
    }
  }

  /// The account signed in, or out, or a sign-in as demanded failed: the next one asks for nothing of it.
  package func forget(_ account: AccountID) { demands.withLock { $0[account] = nil } }
}
