internal import AgentCore
internal import AgentModel
internal import AgentOAuth
package import AgentRecords
internal import AgentStore

/// Decides about every target of a request that the agent sends, also one that a redirect leads to.
package struct RequestJudge: Sendable {
  package var decisions: PolicyDecisionPoint
  package var caller: RequestCaller
  /// The first target was decided about already, with this permit.
  var permit: RequestPermit?

  package init(_ decisions: PolicyDecisionPoint, for caller: RequestCaller) {
    self.decisions = decisions
    self.caller = caller
  }

  /// False if nothing has to be decided: no capability names the origin, and the caller is no AI agent.
  func isNeeded(_ url: HTTPURL, at provider: ProviderName) -> Bool {
    caller.isForAgent || decisions.mayName(url.origin, at: provider)
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
  mutating func judge(_ next: RequestQuestion, by judge: RequestJudge) async throws(AgentFailure) -> Bool {
    guard judge.isNeeded(next.url, at: next.provider) else { return false }
    if let permit, question?.url == next.url, try await judge.decisions.holds(permit, for: next) { return true }
    permit = try await judge.decisions.decide(next).permit(of: next.account, isRead: next.isRead)
    question = next
    return true
  }
}
