internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol
internal import AgentStore
internal import JSONRPC
internal import Secrets

enum OperationCancelHandler: MethodHandler {
  typealias Method = OperationCancel

  static func handle(_ params: OperationCancel.Params, _ call: Call) async throws(AgentFailure) -> WireOperation {
    WireOperation(
      try await call.agent.operations.requests.cancel(
        params.operation, of: params.account, for: call.limits))
  }
}
