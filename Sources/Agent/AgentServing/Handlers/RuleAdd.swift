internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentRecords
internal import AgentStore

enum RuleAddHandler: MethodHandler {
  typealias Method = RuleAdd

  static func handle(_ params: RuleAdd.Params, _ call: Call) async throws(AgentFailure) -> RuleAdd.Result {
    let pattern: ResourcePattern
    do throws(ResourcePattern.Refusal) {
      pattern = try ResourcePattern(params.pattern)
    } catch {
      throw .invalidParameter("/pattern", expected: error.expected)
    }
    let account = try call.pinned(params.account)
    let rule = try await call.agent.vault.commit { [limits = call.limits] vault throws(AgentFailure) in
      try vault.rules.add(pattern, for: account, by: limits)
    }
    return RuleAdd.Result(
      rule: rule.name, pattern: rule.pattern.text, account: rule.account, createdAt: rule.createdAt)
  }
}
