internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol
internal import AgentStore
internal import JSONRPC
internal import Secrets
internal import Synchronization

enum OperationClaimHandler: MethodHandler {
  typealias Method = OperationClaim

  static func handle(_ params: OperationClaim.Params, _ call: Call) async throws(AgentFailure) -> WireOperation {
    call.client.mayHaveClaims.store(true, ordering: .releasing)
    let claimed = try await call.agent.operations.claims.claim(
      params.operation, params.capability, of: params.account, for: .seconds(Int64(params.leaseSeconds)),
      on: call.client.id, for: call.limits)
    var operation = WireOperation(claimed.told)
    operation.claim = claimed.claim
    operation.claimExpiresAt = claimed.expiresAt
    return operation
  }
}
