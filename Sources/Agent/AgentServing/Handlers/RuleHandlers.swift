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

enum RuleRemoveHandler: MethodHandler {
  typealias Method = RuleRemove

  static func handle(_ params: RuleRemove.Params, _ call: Call) async throws(AgentFailure) -> RuleRemove.Result {
    try await call.agent.vault.commit { vault throws(AgentFailure) in try vault.rules.remove(params.rule) }
    return RuleRemove.Result(rule: params.rule)
  }
}
