internal import AgentCore
internal import AgentModel
internal import AgentProtocol
internal import AgentStore

extension ApprovalRequestedEvent {
  init(_ entry: Approvals.Entry) {
    let wish = entry.wish
    self.init(
      approval: entry.id, grant: wish.request.grant, client: wish.client, capability: wish.capabilities[0],
      method: wish.request.method, url: wish.shownURL, requestedAt: entry.requestedAt, expiresAt: entry.expiresAt,
      stepUp: wish.stepUp.map { WireStepUpMethod($0) })
  }
}

extension WireApproval {
  init(_ entry: Approvals.Entry) {
    let wish = entry.wish
    self.init(
      approval: entry.id, grant: wish.request.grant, client: wish.client, account: wish.request.account,
      capability: wish.capabilities[0], method: wish.request.method, url: wish.shownURL,
      requestedAt: entry.requestedAt, expiresAt: entry.expiresAt,
      stepUp: wish.stepUp.map { WireStepUpMethod($0) }, waiting: max(1, entry.machine.askers.count))
  }
}

extension ApprovalDecidedEvent {
  /// Nil where the agent ends: no client is told of that.
  init?(_ entry: Approvals.Entry, _ end: ApprovalMachine.End, decidedBy client: String?) {
    let wish = entry.wish
    let outcome: WireApprovalOutcome
    var verdict: WireApprovalVerdict?
    var basis: WireApprovalBasis?
    switch end {
    case .decided(let given, let by):
      outcome = .decided
      verdict = WireApprovalVerdict(given)
      basis = by == .call ? .call : .pinentry
    case .timedOut: outcome = .timedOut
    case .withdrawn: outcome = .withdrawn
    case .grantEnded: outcome = .grantEnded
    case .locked: outcome = .locked
    case .shuttingDown: return nil
    }
    self.init(
      approval: entry.id, grant: wish.request.grant, client: wish.client, capability: wish.capabilities[0],
      outcome: outcome, verdict: verdict, basis: basis, decidedBy: client)
  }
}

extension WireApprovalVerdict {
  init(_ verdict: ApprovalMachine.Verdict) {
    switch verdict {
    case .once: self = .once
    case .session: self = .session
    case .deny: self = .deny
    }
  }
}

extension ApprovalMachine.Verdict {
  init(_ verdict: WireApprovalVerdict) {
    switch verdict {
    case .once: self = .once
    case .session: self = .session
    case .deny: self = .deny
    }
  }
}

extension WireStepUpMethod {
  fileprivate init(_ method: StepUpMethod) { self = method == .pin ? .pin : .pinentry }
}

extension WireAccessRequest {
  init(_ entry: AccessRequests.Entry) {
    self.init(
      request: entry.id, grant: entry.grant, client: entry.client, origins: entry.addition.origins.sorted(),
      methods: entry.addition.methods, capabilities: entry.addition.capabilities.sorted(), reason: entry.reason,
      requestedAt: entry.requestedAt)
  }
}

extension AccessRequestedEvent {
  init(_ entry: AccessRequests.Entry) {
    self.init(
      request: entry.id, grant: entry.grant, client: entry.client, origins: entry.addition.origins.sorted(),
      methods: entry.addition.methods, capabilities: entry.addition.capabilities.sorted(), reason: entry.reason,
      requestedAt: entry.requestedAt)
  }
}

extension AccessDecidedEvent {
  init(_ entry: AccessRequests.Entry, _ end: AccessEnd, decidedBy client: String?) {
    var verdict: WireAccessVerdict?
    var expiresAt: Timestamp?
    switch end {
    case .allowed(let until): (verdict, expiresAt) = (.allow, until)
    case .denied: verdict = .deny
    case .grantEnded: break
    }
    self.init(
      request: entry.id, grant: entry.grant, client: entry.client, verdict: verdict, expiresAt: expiresAt,
      decidedBy: client)
  }
}
