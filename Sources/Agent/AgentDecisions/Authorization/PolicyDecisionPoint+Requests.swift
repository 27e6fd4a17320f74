internal import AgentCore
internal import AgentModel
internal import AgentPermissions
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import JSONRPC

/// Decisions about requests (docs/offline.md, Requests). The same everywhere: for a request that the agent sends, for one
/// that it gives a token for, and for one of an operation.
extension PolicyDecisionPoint {
  /// Decides, counts the uses of budgets, and writes it to the audit log before it returns.
  ///
  /// `isUse`: the request is allowed to leave now; else budgets don't count.
  func decide(_ question: RequestQuestion, isUse: Bool = true) async throws(AgentFailure) -> RequestVerdict {
    let account = accounts.account(question.account)
    var mayWait = question.waitSeconds > 0
    for _ in 0..<Self.mostTries {
      let ticket = account.dependencies.decisions.ticket()
      let names = try names(question)
      guard !names.isEmpty else {
        guard let verdict = try await unnamed(question, ticket) else { continue }
        try await recordTrial(of: question, account)
        return verdict
      }
      let counted = isUse ? names.filter { !question.rights.used.contains($0) } : []
      let (found, policy) = try await facts(of: account, for: question, counting: counted)
      var decisions = names.map { recorded(PolicyEngine.decide($0, facts: found.facts, under: policy), found) }
      let denial = decisions.firstIndex { !$0.decision.allows(isRead: question.isRead) }
      let wanted = denial.flatMap { _ in ProviderQuestion.joined(decisions.compactMap(\.decision.question)) }
      // A confirmation helps only where each denial wants one.
      if mayWait, let wanted,
        decisions.allSatisfy({ $0.decision.allows(isRead: question.isRead) || $0.decision.question != nil })
      {
        mayWait = false
        try await account.confirm(wanted, waitSeconds: question.waitSeconds)
        continue
      }
      // What is denied anyway is asked of no one.
      if denial == nil, let wish = wish(for: question, names, policy) { return .unapproved(wish) }
      let counting = decisions.map(\.decision).filter { counted.contains($0.capability) }
      let uses = denial == nil ? uses(counting, found, policy) : []
      let entries = decisions.map { decision in
        // What the caller names itself is a decision as any other, but for an AI agent's.
        let isNamedByCaller = decision.decision.capability == question.capability && !question.caller.isForAgent
        return entry(
          decision, as: isNamedByCaller ? .decision : question.event, isNamedByCaller ? [] : question.auditFacts)
      }
      let trial = shadowEntry(
        question, found, isAllowed: denial == nil, counted: decisions[denial ?? 0].decision.reason.rawValue)
      let all = entries + trial
      let ids = try await audit.record(all, offering: all.map { _ in nil }, spending: uses) {
        [policyCache] vault in
        vault.directory.profiles[found.account]?.epoch == found.epoch
          && policyCache.policy(of: found.provider) == policy && found.provider == question.provider
      }
      guard let ids else {
        // The names may be others now.
        continue
      }
      for index in decisions.indices { decisions[index].id = ids[index] }
      account.dependencies.environment.figures.decided(decisions.map(\.decision))
      guard let denial else {
        let rights = GivenTokens.Rights(
          approved: Set(approvable(question, names, policy)), used: question.rights.used.union(uses.map(\.capability)))
        return .allowed(RequestPermit(decision: decisions.first, rights: rights, ticket: ticket))
      }
      if question.waitSeconds == 0, let wanted { try await account.confirm(wanted, waitSeconds: 0) }
      return .denied(decisions[denial], all: decisions)
    }
    throw .overloaded("decisions about an account that keeps changing")
  }

  /// False if what the permit was decided from changed so that the request is not allowed any more. Counts nothing and
  /// writes nothing.
  func holds(_ permit: RequestPermit, for question: RequestQuestion) async throws(AgentFailure) -> Bool {
    let account = accounts.account(question.account)
    guard !account.dependencies.decisions.isCurrent(permit.ticket, of: question.account) else {
      return permit.decision != nil || coversUnnamed(question)
    }
    let names = try names(question)
    guard !names.isEmpty else { return coversUnnamed(question) }
    let (found, policy) = try await facts(of: account, for: question)
    var question = question
    question.rights = permit.rights
    guard wish(for: question, names, policy) == nil else { return false }
    return names.allSatisfy {
      PolicyEngine.decide($0, facts: found.facts, under: policy).allows(isRead: question.isRead)
    }
  }

  /// False if no request to this origin has to be decided about, but for an AI agent's.
  func mayName(_ origin: String, at provider: ProviderName) -> Bool {
    policyCache.policy(of: provider).mayName(origin)
      || policyCache.shadow(of: provider).map { PolicyEngine.Policy.document($0).mayName(origin) } ?? false
  }

  /// The capabilities that decide, the closest first. `PolicyEngine` denies whatever is asked under a policy that can't
  /// be read.
  private func names(_ question: RequestQuestion) throws(AgentFailure) -> [String] {
    let own = question.capability.map { [$0] } ?? []
    do throws(RequestPath.Refusal) {
      switch try RequestNaming(
        of: question.method, question.url, isForAgent: question.caller.isForAgent,
        under: policyCache.policy(of: question.provider))
      {
      case .none: return coversUnnamed(question) ? own : []
      case .unreadable: return own.isEmpty ? ["request"] : own
      case .restricting where !coversUnnamed(question): return []
      case .capabilities(let names), .restricting(let names): return own.filter { !names.contains($0) } + names
      }
    } catch {
      throw .invalidParameter("/url", expected: RequestPath.expected)
    }
  }

  /// Nil if the policy changed before it was written down.
  private func unnamed(
    _ question: RequestQuestion, _ ticket: DecisionCache.Ticket
  ) async throws(AgentFailure) -> RequestVerdict? {
    let isCovered = coversUnnamed(question)
    if question.isRecordedUnnamed {
      let policy = policyCache.policy(of: question.provider)
      var entry = AuditEntry(
        at: clock.wall(), event: question.event, outcome: isCovered ? Decision.Effect.allow.rawValue : "notPermitted",
        account: question.account, client: Caller.client, facts: question.auditFacts)
      entry.isBatched = isCovered && question.isRead
      let ids = try await audit.record([entry], offering: [nil]) { [policyCache] _ in
        policyCache.policy(of: question.provider) == policy
      }
      guard ids != nil else { return nil }
    }
    return isCovered ? .allowed(RequestPermit(decision: nil, ticket: ticket)) : .notCovered
  }

  private func facts(
    of account: Account, for question: RequestQuestion, counting capabilities: [String] = []
  ) async throws(AgentFailure) -> (AccountFacts, PolicyEngine.Policy) {
    var (found, policy) = try await facts(
      of: account, within: question.caller.scopes, confirmedFor: question.caller.grant, counting: capabilities)
    found.facts.isApprovedByPerson = question.isApprovable && !question.isWantedByPerson
    return (found, policy)
  }

  /// An AI agent only reads what the policy does not name, but for what a person added to its grant and counts still. Where
  /// the catalogue knows a GET of the service that changes something, it reads what the catalogue knows as a read.
  func coversUnnamed(_ question: RequestQuestion) -> Bool {
    let caller = question.caller
    if !caller.isForAgent { return true }
    if Permission.isReading(question.method, hasBody: question.hasBody),
      policyCache.isReading(question.url, at: question.provider)
    {
      return true
    }
    func isAdded(_ added: [String: Set<String>]) -> Bool {
      added[question.url.origin]?.contains(question.method) == true
    }
    guard let grant = caller.grant, caller.addedMethods.map(isAdded) ?? true else { return false }
    return grants.limits(of: grant).map { isAdded($0.permission.addedMethods) } ?? false
  }
}

extension RequestQuestion {
  /// What an AI agent does is in the log, and every token that was given for one request.
  fileprivate var isRecordedUnnamed: Bool { caller.isForAgent || event == .requestAuthorize }

  /// Without path and query, which hold data.
  var auditFacts: [AuditEntry.Fact] {
    [.origin(url.origin), .method(method)] + caller.facts
  }
}
