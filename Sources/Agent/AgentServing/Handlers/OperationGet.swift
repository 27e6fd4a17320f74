internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import JSONRPC
internal import Secrets

enum OperationGetHandler: LongAnswerHandler {
  typealias Method = OperationGet

  /// A request's body has at most 1 MiB, and what is kept of an answer is a small part of that.
  private static let longest = 5 << 18

  static func handle(
    _ params: OperationGet.Params, _ call: Call
  ) async throws(AgentFailure) -> (WireOperation, MemoryBudget.Share?) {
    guard let share = await call.agent.environment.answers.share(longest) else { throw .cancelled }
    let operation = WireOperation(
      try await call.agent.vault.read { vault throws(AgentFailure) in
        try vault.operations.told(params.operation, of: params.account)
      })
    return (operation, share)
  }
}
