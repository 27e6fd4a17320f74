internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import JSONRPC
internal import Secrets

enum OperationGetHandler: MethodHandler {
  typealias Method = OperationGet

  static func handle(_ params: OperationGet.Params, _ call: Call) async throws(AgentFailure) -> WireOperation {
    WireOperation(
      try await call.agent.vault.read { vault throws(AgentFailure) in
        try vault.operations.told(params.operation, of: params.account)
      })
  }
}
