internal import Agent
internal import AgentCore
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum RuleListHandler: MethodHandler {
  typealias Method = RuleList

  static func handle(_ params: RuleList.Params, _ call: Call) async throws(AgentFailure) -> RuleList.Result {
    // Nothing tells of which account a damaged rule is.
    let (rules, damaged) = try await call.agent.vault.read { [limits = call.limits] vault throws(AgentFailure) in
      (vault.rules.all(within: limits), limits == nil ? vault.rules.damaged : [])
    }
    return RuleList.Result(
      rules: rules.map {
        WireAccountRule(rule: $0.name, pattern: $0.pattern.text, account: $0.account, createdAt: $0.createdAt)
      },
      damaged: damaged.isEmpty ? nil : damaged)
  }
}
