internal import AgentCore
internal import AgentModel
internal import AgentPermissions
internal import AgentSessions
internal import AgentStore

/// Requests that wait for a person (docs/approvals.md).
extension PolicyDecisionPoint {
  /// Each further try is after a verdict, when another policy wants one more.
  private static let mostVerdicts = 8
  /// How long a request that is about to leave waits for the provider, where a decision lacks its confirmation.
  static let confirmationSeconds = 10

  /// As `RequestQuestion.waitSeconds`: none where the provider can't be reached, since a caller that is offline wants to know
  /// that at once.
  func patience(with provider: ProviderName) -> Int {
    accounts.dependencies.connectivity.isUnreachable(provider) ? 0 : Self.confirmationSeconds
  }

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
      var approved = wish.capabilities
      if let wait = try await approvals.ask(wish) {
        approved = wait.capabilities
        if let prompts, wish.stepUp == .pinentry {
          try await race(wait, for: question, prompts)
        } else {
          try await approvals.verdict(of: wait)
        }
      }
      // The grant may have ended in the moment of the verdict.
      guard grants.limits(of: wish.request.grant) != nil else { throw .caller(.notCovered) }
      question.rights.approved.formUnion(approved)
      // After the wait the provider's last confirmation may be too old for the policy.
      question.waitSeconds = patience(with: question.provider)
    }
    throw .overloaded("decisions about a policy that keeps changing")
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

  /// A prompt that can't be shown, or that the person leaves unanswered, leaves the request to the other deciders.
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
