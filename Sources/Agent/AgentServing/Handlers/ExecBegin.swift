internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum ExecBeginHandler: MethodHandler {
  typealias Method = ExecBegin

  static func handle(_ params: ExecBegin.Params, _ call: Call) async throws(AgentFailure) -> ExecBegin.Result {
    let account = try await call.agent.vault.commit { vault throws(AgentFailure) in
      try vault.audit.lending(params.account, to: params.program)
    }
    return ExecBegin.Result(account: account)
  }
}
