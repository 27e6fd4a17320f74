internal import Agent
internal import AgentCore
internal import AgentProtocol
internal import AgentStore

enum RuleListHandler: MethodHandler {
  typealias Method = RuleList

  static func handle(_ params: RuleList.Params, _ call: Call) async throws(AgentFailure) -> RuleList.Result {
    let (rules, damaged) = try await call.agent.vault.read { vault throws(AgentFailure) in
      (vault.rules.all, vault.rules.damaged)
    }
    return RuleList.Result(
      rules: rules.map {
        WireAccountRule(rule: $0.name, pattern: $0.pattern.text, account: $0.account, createdAt: $0.createdAt)
      },
      damaged: damaged.isEmpty ? nil : damaged)
  }
}
