internal import AgentCore
internal import AgentModel
internal import AgentOAuth
package import AgentRecords
internal import AgentStore

/// Decides about every target of a request that the agent sends, also one that a redirect leads to.
package struct RequestJudge: Sendable {
  var decisions: PolicyDecisionPoint
  var caller: RequestCaller
  /// The first target was decided about already, with this permit.
  var permit: RequestPermit?
  /// The request has no caller that waits: what wants a person's approval is not sent.
  var isUnattended = false

  package init(_ decisions: PolicyDecisionPoint, for caller: RequestCaller) {
    self.decisions = decisions
    self.caller = caller
  }

  /// False if nothing has to be decided: no capability names the origin, and the caller is no AI agent.
  func isNeeded(_ url: HTTPURL, at provider: ProviderName) -> Bool {
    caller.isForAgent || decisions.mayName(url.origin, at: provider)
  }

  /// Decides, and waits for the provider's confirmation and for a person where a capability wants that.
  func permit(_ question: RequestQuestion, until deadline: BootInstant?) async throws(AgentFailure) -> RequestPermit {
    let (decisions, isUnattended) = (decisions, isUnattended)
    var question = question
    question.waitSeconds = decisions.patience(with: question.provider)
    let decided = try await withDeadline(at: deadline, clock: decisions.clock) {
      [question] () async throws(AgentFailure) in
      let verdict =
        isUnattended ? try await decisions.decide(question) : try await decisions.approved(question).verdict
      // Cut short at the deadline, a denial tells only that no confirmation came until then.
      if Task.isCancelled, case .denied = verdict { throw .cancelled }
      return verdict
    }
    guard let decided else { throw .timedOut(question.account) }
    return try decided.permit(of: question.account, isRead: question.isRead)
  }

  /// `url`: that of the request, or one that a redirect leads to.
  func question(
    _ request: ResourceRequest, _ url: HTTPURL, of account: AccountID, at provider: ProviderName
  ) -> RequestQuestion {
    RequestQuestion(
      account: account, provider: provider, method: request.method, hasBody: request.body != nil, url: url,
      event: .requestSend, caller: caller)
  }
}

/// The targets of one request that were decided about: the last one, with its permit.
struct JudgedTarget: Sendable {
  private var question: RequestQuestion?
  private var permit: RequestPermit?

  init() {}

  init(_ question: RequestQuestion, _ permit: RequestPermit) {
    self.question = question
    self.permit = permit
  }

  /// Decides about the target if it is a new one, or if what was decided about it does not hold any more. Returns true
  /// if something was awaited.
  ///
  /// - Parameter deadline: until when the caller waits for the provider or a person.
  mutating func judge(
    _ next: RequestQuestion, by judge: RequestJudge, until deadline: BootInstant?
  ) async throws(AgentFailure) -> Bool {
    guard judge.isNeeded(next.url, at: next.provider) else { return false }
    var next = next
    if let permit, question?.url == next.url {
      if try await judge.decisions.holds(permit, for: next) { return true }
      // It is the same request still.
      next.rights = permit.rights
    }
    permit = try await judge.permit(next, until: deadline)
    question = next
    return true
  }
}
