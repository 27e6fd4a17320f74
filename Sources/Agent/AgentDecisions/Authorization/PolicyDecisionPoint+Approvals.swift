package import AgentCore
package import AgentModel
internal import AgentPermissions
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
package import AgentStore

/// What requests lack of a person's approval, and the person's verdict (docs/approvals.md).
extension PolicyDecisionPoint {
  /// What the request lacks of a person's approval, by the policy; nil if nothing.
  func wish(
    for question: RequestQuestion, _ names: [String], _ policy: PolicyEngine.Policy
  ) -> Approvals.Wish? {
    guard !question.isWantedByPerson, let request = question.approvable, case .document(let document) = policy else {
      return nil
    }
    let lacking = approvable(question, names, policy).filter { name in
      !question.rights.approved.contains(name)
        && !approvals.isAllowed(name, of: request.account, for: request.grant)
    }
    let rules = lacking.compactMap { document.capabilities[$0] }
    guard let wait = rules.compactMap(\.approvalWait).min() else { return nil }
    // A PIN is more than a confirmation in the agent's own prompt.
    let methods = Set(rules.compactMap { $0.stepUp?.method })
    return Approvals.Wish(
      request: request, client: question.caller.client ?? "", capabilities: lacking, url: question.url,
      stepUp: methods.contains(.pin) ? .pin : methods.first, wait: wait)
  }

  /// Those of the capabilities that want a person's approval of the request.
  func approvable(_ question: RequestQuestion, _ names: [String], _ policy: PolicyEngine.Policy) -> [String] {
    guard question.isApprovable, case .document(let document) = policy else { return [] }
    return names.filter { document.capabilities[$0]?.approvalWait != nil }
  }

  /// A person's verdict about a request that waits.
  ///
  /// - Throws: `.stepUpWanted` if a capability wants a step-up with it, or one that is more recent.
  package func decide(approval id: String, _ verdict: ApprovalMachine.Verdict) async throws(AgentFailure) -> AccountID {
    let entry = try approvals.waiting(id)
    if verdict != .deny { try await requireStepUps(of: entry) }
    try await approvals.decide(id, verdict, by: .call)
    return entry.wish.request.account
  }

  private func requireStepUps(of entry: Approvals.Entry) async throws(AgentFailure) {
    let request = entry.wish.request
    var (found, policy) = try await facts(
      of: accounts.account(request.account), within: nil, confirmedFor: nil)
    // What was confirmed for one capability in the agent's own prompt was another question.
    found.facts.confirmations = [:]
    for capability in entry.wish.capabilities {
      let decision = PolicyEngine.decide(capability, facts: found.facts, under: policy)
      if decision.failed.contains(where: { $0.check == .stepUp }) { throw .stepUpWanted(recorded(decision, found)) }
    }
  }
}
