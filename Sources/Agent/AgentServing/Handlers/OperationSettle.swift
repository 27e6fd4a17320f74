internal import Agent
internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol
internal import AgentStore
internal import JSONRPC
internal import Secrets

enum OperationSettleHandler: MethodHandler {
  typealias Method = OperationSettle

  /// The schema's bound for `detail`.
  private static let mostDetailBytes = 16 << 10

  static func handle(_ params: OperationSettle.Params, _ call: Call) async throws(AgentFailure) -> WireOperation {
    guard let claim = params.claim else { throw .invalidParameter("/claim", expected: "string") }
    // `unknown` stands in the contract, and was never served.
    guard let outcome = OperationMachine.Outcome(rawValue: params.outcome.rawValue) else {
      throw .invalidParameter("/outcome", expected: "done, rejected or retry")
    }
    let detail = params.detail?.withBytes { [UInt8]($0) }
    guard detail?.count ?? 0 <= Self.mostDetailBytes else {
      throw .invalidParameter("/detail", expected: "at most 16 KiB")
    }
    return WireOperation(
      try await call.agent.operations.claims.settle(
        params.operation, of: params.account, by: claim, outcome, detail: detail))
  }
}
