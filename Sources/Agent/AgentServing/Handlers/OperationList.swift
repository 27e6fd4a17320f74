internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore
internal import JSONRPC
internal import Secrets

enum OperationListHandler: MethodHandler {
  typealias Method = OperationList

  static func handle(_ params: OperationList.Params, _ call: Call) async throws(AgentFailure) -> OperationList.Result {
    let status = params.status.flatMap { OperationMachine.Status(rawValue: $0.rawValue) }
    let id = try await call.agent.vault.profile(params.account).id
    let queue = await call.agent.operations.queue(of: id)
    let (account, page, more) = try await call.agent.vault.read { vault throws(AgentFailure) in
      try vault.operations.page(of: .id(id), status, after: params.after, limit: params.limit, heldUpBy: queue)
    }
    return OperationList.Result(account: account, operations: page.map { WireOperation($0) }, more: more)
  }
}
