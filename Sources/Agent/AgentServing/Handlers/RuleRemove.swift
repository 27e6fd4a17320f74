internal import Agent
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum RuleRemoveHandler: MethodHandler {
  typealias Method = RuleRemove

  static func handle(_ params: RuleRemove.Params, _ call: Call) async throws(AgentFailure) -> RuleRemove.Result {
    try await call.agent.vault.commit { vault throws(AgentFailure) in try vault.rules.remove(params.rule) }
    return RuleRemove.Result(rule: params.rule)
  }
}
