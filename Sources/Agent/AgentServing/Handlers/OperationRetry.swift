internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol
internal import AgentStore
internal import JSONRPC
internal import Secrets

enum OperationRetryHandler: MethodHandler {
  typealias Method = OperationRetry

  static func handle(_ params: OperationRetry.Params, _ call: Call) async throws(AgentFailure) -> WireOperation {
    WireOperation(
      try await call.agent.operations.requests.retry(params.operation, of: params.account, for: call.limits)
    )
  }
}
