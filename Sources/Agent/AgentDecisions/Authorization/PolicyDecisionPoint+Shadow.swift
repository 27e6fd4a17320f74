internal import AgentCore
internal import AgentPermissions
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
internal import AgentStore

/// Dry runs (docs/policy-bundles.md, Dry runs): both decisions are made, only that of the policy in force counts, and a
/// difference is audited.
extension PolicyDecisionPoint {
  /// The entries about decisions that the policy on trial would have made otherwise. A dry run takes no uses of
  /// budgets, so a budget that it alone has never runs out.
  func shadowEntries(
    _ decisions: [RecordedDecision], context: PolicyContext = PolicyContext(), _ found: AccountFacts
  ) -> [AuditEntry] {
    guard let shadow = policyCache.shadow(of: found.provider) else { return [] }
    return decisions.compactMap { recorded in
      let counted = recorded.decision
      let trial = PolicyEngine.decide(
        counted.capability, context: context, facts: found.facts, under: .document(shadow))
      guard !trial.isSame(as: counted) else { return nil }
      return AuditEntry(
        at: clock.wall(), event: .policyShadow, outcome: trial.effect.rawValue, account: recorded.account,
        client: Caller.client,
        facts: [
          .capability(counted.capability), .reason(trial.reason.rawValue), .policy(shadow.name),
          .policyVersion(shadow.version), .decided(counted.effect.rawValue), .decidedReason(counted.reason.rawValue),
        ])
    }
  }

  /// At most one entry: the request would be allowed by the policy on trial and is denied, or the other way round.
  func shadowEntry(
    _ question: RequestQuestion, _ found: AccountFacts, isAllowed: Bool, counted: String
  ) -> [AuditEntry] {
    guard let shadow = policyCache.shadow(of: found.provider) else { return [] }
    var decided: Decision?
    var mayGo = coversUnnamed(question)
    let naming = try? RequestNaming(
      of: question.method, question.url, isForAgent: question.caller.isForAgent, under: .document(shadow))
    let deciding: [String]? =
      switch naming {
      case .capabilities(let names)?: names
      case .restricting(let names)? where mayGo: names
      default: nil
      }
    if let names = deciding {
      let own = question.capability.map { [$0] } ?? []
      let all = (own.filter { !names.contains($0) } + names).map {
        PolicyEngine.decide($0, facts: found.facts, under: .document(shadow))
      }
      decided = RequestNaming.joined(all, isRead: question.isRead)
      mayGo = decided?.allows(isRead: question.isRead) ?? mayGo
    } else if naming == nil {
      // A path that servers read in two ways, at an origin that only the policy on trial names.
      mayGo = false
    }
    guard mayGo != isAllowed else { return [] }
    var facts: [AuditEntry.Fact] = [
      .policy(shadow.name), .policyVersion(shadow.version), .decided(isAllowed ? "allow" : "deny"),
      .decidedReason(counted),
    ]
    if let decided { facts += [.capability(decided.capability), .reason(decided.reason.rawValue)] }
    return [
      AuditEntry(
        at: clock.wall(), event: .policyShadow, outcome: mayGo ? "allow" : "deny", account: found.account,
        client: Caller.client, facts: facts + question.auditFacts)
    ]
  }

  /// Records the trial of a request that no capability of the policy in force names.
  func recordTrial(of question: RequestQuestion, _ account: Account) async throws(AgentFailure) {
    guard policyCache.shadow(of: question.provider) != nil else { return }
    let (found, _) = try await facts(of: account, within: question.caller.scopes, confirmedFor: question.caller.grant)
    let entries = shadowEntry(
      question, found, isAllowed: coversUnnamed(question),
      counted: coversUnnamed(question) ? Decision.Reason.allowed.rawValue : "notPermitted")
    if !entries.isEmpty { _ = try await audit.record(entries, offering: [nil]) { _ in true } }
  }
}

extension Decision {
  /// True if a caller would do the same after both.
  fileprivate func isSame(as other: Decision) -> Bool {
    effect == other.effect && reason == other.reason && obligations == other.obligations
  }
}
