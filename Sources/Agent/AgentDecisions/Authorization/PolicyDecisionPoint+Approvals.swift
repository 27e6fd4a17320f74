package import AgentCore
package import AgentModel
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
package import AgentStore

/// Requests that wait for a person (docs/approvals.md).
extension PolicyDecisionPoint {
  /// Each further try is after a verdict, when another policy wants one more.
  private static let mostVerdicts = 8

  /// Decides as `decide(_:)`, and has the request wait where nothing but a person's approval is missing. The account and
  /// the policy are looked at again after it. Returns the question with what was approved.
  ///
  /// - Parameter prompts: the agent's own prompt is one way to decide, where the step-up is `pinentry`.
  func approved(
    _ question: RequestQuestion, isUse: Bool = true, prompting prompts: RequestPrompts? = nil
  ) async throws(AgentFailure) -> (verdict: RequestVerdict, question: RequestQuestion) {
    var question = question
    for _ in 0..<Self.mostVerdicts {
      let verdict = try await decide(question, isUse: isUse)
      guard case .unapproved(let wish) = verdict else { return (verdict, question) }
      if let wait = try await approvals.ask(wish) {
        if let prompts, wish.stepUp == .pinentry {
          try await race(wait, for: question, prompts)
        } else {
          try await approvals.verdict(of: wait)
        }
      }
      // The grant may have ended in the moment of the verdict.
      guard grants.limits(of: wish.request.grant) != nil else { throw .caller(.notCovered) }
      question.approved.formUnion(wish.capabilities)
    }
    throw .overloaded("decisions about a policy that keeps changing")
  }

  /// What the request lacks of a person's approval, by the policy; nil if nothing.
  func wish(
    for question: RequestQuestion, _ names: [String], _ policy: PolicyEngine.Policy
  ) -> Approvals.Wish? {
    guard let grant = question.caller.grant, case .document(let document) = policy else { return nil }
    let lacking = approvable(question, names, policy).filter { name in
      !question.approved.contains(name)
        && !approvals.isAllowed(name, of: question.account, for: grant)
    }
    let rules = lacking.compactMap { document.capabilities[$0] }
    guard let wait = rules.compactMap(\.approvalWait).min() else { return nil }
    // A PIN is more than a confirmation in the agent's own prompt.
    let methods = Set(rules.compactMap { $0.stepUp?.method })
    return Approvals.Wish(
      request: Approvals.Request(
        grant: grant, account: question.account, method: question.method, url: question.url.text),
      client: question.caller.client ?? "", capabilities: lacking, url: question.url,
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

  /// Waits for the first verdict: of another decider, or of the person in the agent's own prompt, which closes with it.
  private func race(
    _ wait: RequestApprovals.Wait, for question: RequestQuestion, _ prompts: RequestPrompts
  ) async throws(AgentFailure) {
    let approvals = approvals
    let ended = await withTaskGroup(of: Result<Void, AgentFailure>?.self) { group in
      group.addTask {
        do throws(AgentFailure) {
          try await approvals.verdict(of: wait)
          return .success(())
        } catch {
          return .failure(error)
        }
      }
      group.addTask {
        await ask(question, prompts, wait)
        return nil
      }
      while let next = await group.next() {
        guard let next else { continue }
        group.cancelAll()
        return next
      }
      return Result<Void, AgentFailure>.failure(.cancelled)
    }
    try ended.get()
  }

  /// A prompt that can't be shown, or that nobody answers, leaves the request to the other deciders.
  private func ask(_ question: RequestQuestion, _ prompts: RequestPrompts, _ wait: RequestApprovals.Wait) async {
    let approvals = approvals
    do throws(AgentFailure) {
      try await prompts.inTurn(question.account) { () async throws(AgentFailure) in
        // While this one waited for its turn, another decider may have been faster.
        _ = try approvals.waiting(wait.approval)
        switch try await prompts.put(question) {
        case nil: try await approvals.decide(wait.approval, .once, by: .pinentry)
        case .declined: try await approvals.decide(wait.approval, .deny, by: .pinentry)
        case .timedOut, .unavailable, .paused: break
        }
      }
    } catch {}
  }
}
