internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import JSONRPC
internal import Secrets

enum OperationGetHandler: LongAnswerHandler {
  typealias Method = OperationGet

  /// What is told beside the request and the answer.
  private static let leastBytes = 4 << 10

  static func handle(
    _ params: OperationGet.Params, _ call: Call
  ) async throws(AgentFailure) -> (WireOperation, MemoryBudget.Share?) {
    let id = try await call.agent.vault.profile(params.account).id
    let queue = await call.agent.operations.queue(of: id)
    let told = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.operations.told(params.operation, of: .id(id), heldUpBy: queue)
    }
    let bytes = 2 * told.operation.bytes + Self.leastBytes
    guard let share = await call.agent.environment.answers.share(bytes, isLimited: call.limits != nil) else {
      throw .cancelled
    }
    return (WireOperation(told), share)
  }
}
